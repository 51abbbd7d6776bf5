package schedule

import (
	"context"

	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

func (s *Schedules) Compare(ctx context.Context, id string, x scheduling.Schedule) ([]string, error) {
	was, err := s.reach(ctx, id, 0)
	if err != nil {
		return nil, err
	}
	stored, wanted := was.Target, clean(x.Target)
	sealedTargets, member := notifications(&wanted)
	list, other := notifications(&stored)
	if sealedTargets != nil && list != nil && member == other {
		same, err := s.targets.Same(ctx, *sealedTargets, *list)
		if err != nil {
			return nil, err
		}
		if !same {
			return []string{member}, nil
		}
		*sealedTargets = *list
	}
	var out []string
	for _, m := range []struct {
		name string
		a, b any
	}{
		{"answers", wanted.Answers, stored.Answers}, {"run", wanted.Run, stored.Run},
		{"pipeline", wanted.Pipeline, stored.Pipeline},
	} {
		same, err := runs.Alike(m.a, m.b)
		if err != nil {
			return nil, err
		}
		if !same {
			out = append(out, m.name)
		}
	}
	return out, nil
}
