package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/importer"
)

// What a comparison says of a schedule.
const (
	firesSame     = "same"
	firesDiffer   = "differs"
	firesMissing  = "missing here"
	firesDisabled = "disabled here"
)

// comparedSchedule is a schedule of an export beside the stored one of its name.
type comparedSchedule struct {
	Name   string             `json:"name"`
	ID     string             `json:"id,omitempty"`
	State  string             `json:"state"`
	Reason string             `json:"reason,omitempty"` // why it is not imported
	Fires  importer.FiresBody `json:"next_fires"`
}

func scheduleCompareCommand(w environment) *cobra.Command {
	var f readFlags
	c := &cobra.Command{
		Use: "compare FORMAT FILE...", Short: "Compare the schedules of an export with those of the server",
		Args: args(cobra.MinimumNArgs(2)),
		Example: `  writ schedule compare awx export.json
  crontab -l | writ schedule compare cron - --user deploy`,
		Long: `Show when each schedule of an export fires next, and when the stored schedule of its name does, enabled or not. It is
for the time in which both products run. FORMAT and FILE are those of 'writ import'.

A schedule is the same, differs, is missing here, or is the same and disabled here.

Exit codes: 0 done, 1 failed, 2 usage, 3 a schedule differs or is missing.`,
	}
	f.register(c)
	return clientCommand(w, c, func(ctx context.Context, c *client, a []string, out printer) error {
		return f.compare(ctx, c, a[0], a[1:], out)
	})
}

func (f *readFlags) compare(ctx context.Context, c *client, name string, files []string, out printer) error {
	exports, err := f.read(out.environment, name, files)
	if err != nil {
		return err
	}
	format, err := formatNamed(name)
	if err != nil {
		return err
	}
	draft, err := draftOf(ctx, format, exports)
	if err != nil {
		return err
	}
	stored, err := storedSchedules(ctx, c)
	if err != nil {
		return err
	}
	list := []comparedSchedule{}
	unlike := 0
	for _, o := range draft.Objects {
		if o.Kind != importer.Schedule {
			continue
		}
		s, err := compareSchedule(ctx, c, o, stored[o.Name])
		if err != nil {
			return err
		}
		if s.State == firesDiffer || s.State == firesMissing {
			unlike++
		}
		list = append(list, s)
	}
	if out.json {
		err = out.document(map[string]any{"schedules": list, "count": len(list)})
	} else {
		printCompared(newScreen(out.environment), list)
	}
	if err == nil && unlike > 0 {
		return exitCode(exitDiffers)
	}
	return err
}

// storedSchedules returns the schedules of the server by their names. One in no organization takes precedence, for
// those are what imports write.
func storedSchedules(ctx context.Context, c *client) (map[string]map[string]any, error) {
	rows, err := c.rows(ctx, "/v1/schedules", "schedules", nil)
	if err != nil {
		return nil, fmt.Errorf("list the schedules: %w", err)
	}
	out := make(map[string]map[string]any, len(rows))
	for _, r := range rows {
		if name := stringField(r, "name"); out[name] == nil || stringField(r, "org_id") == "" {
			out[name] = r
		}
	}
	return out, nil
}

// compareSchedule compares a schedule of an export with the stored one, nil for none.
func compareSchedule(
	ctx context.Context, c *client, o importer.Object, stored map[string]any,
) (comparedSchedule, error) {
	s := comparedSchedule{Name: o.Name, State: firesMissing, Reason: o.Reason,
		Fires: importer.FiresBody{Source: append([]time.Time{}, o.Fires...), Writ: []time.Time{}}}
	if stored == nil {
		return s, nil
	}
	s.ID = stringField(stored, "id")
	fires, err := nextFires(ctx, c, stringField(stored, "cron"), stringField(stored, "timezone"))
	if err != nil {
		return s, fmt.Errorf("schedule %q: %w", o.Name, err)
	}
	s.Fires.Writ = append(s.Fires.Writ, fires...)
	switch {
	case !sameFires(s.Fires, clock.New().Now().Add(time.Minute)):
		s.State = firesDiffer
	case stored["enabled"] != true:
		s.State = firesDisabled
	default:
		s.State = firesSame
	}
	return s, nil
}

// sameFires compares the times after a moment. Those before it may be in one list only, for the lists begin at
// different moments; then that list ends earlier, if it is not the schedule that ends.
func sameFires(f importer.FiresBody, from time.Time) bool {
	past := func(t time.Time) bool { return t.Before(from) }
	old, here := slices.DeleteFunc(slices.Clone(f.Source), past), slices.DeleteFunc(slices.Clone(f.Writ), past)
	n := min(len(old), len(here))
	ended := len(old) == n && len(here) > n && len(f.Source) < importer.MaxFires ||
		len(here) == n && len(old) > n && len(f.Writ) < importer.MaxFires
	return !ended && slices.EqualFunc(old[:n], here[:n], time.Time.Equal)
}

var comparedStatus = map[string]string{
	firesSame: "ok", firesDiffer: "failed", firesMissing: "failed", firesDisabled: "changed",
}

func printCompared(s screen, list []comparedSchedule) {
	for _, x := range list {
		state := s.paint(comparedStatus[x.State], fmt.Sprintf("%-13s", x.State))
		_, _ = fmt.Fprintf(s.w, "%s %s\n", state, oneLine(x.Name, 200))
		if x.Reason != "" {
			_, _ = fmt.Fprintf(s.w, "    %s\n", oneLine(x.Reason, 400))
		}
		printFires(s, x.Fires.Pairs(), x.State == firesDiffer)
	}
	_, _ = fmt.Fprintln(s.w, count(len(list), "schedule"))
}
