package estate

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/visible/scopes"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/estate"
)

func (s *Store) Changed(ctx context.Context, host string, reader access.Scope) (map[string]time.Time, error) {
	q := s.d.Read(ctx)
	may, err := scopes.ReaderOf(ctx, q, reader)
	if err != nil {
		return nil, err
	}
	rows, err := db.Query[struct {
		At            int64
		Codec         int
		Facts         []byte
		Scope, Before int64
	}](ctx, q, "SELECT c.at, c.codec, c.facts, ru.scope_id AS scope, pu.scope_id AS before FROM estate_hosts AS h "+
		"JOIN estate_changes AS c ON c.host_id = h.id "+
		"JOIN estate_readings AS r ON r.host_id = c.host_id AND r.at = c.at JOIN estate_runs AS ru ON ru.id = r.run_id "+
		"JOIN estate_readings AS p ON p.host_id = c.host_id AND p.at = (SELECT MAX(x.at) FROM estate_readings AS x "+
		"WHERE x.host_id = c.host_id AND x.at < c.at) JOIN estate_runs AS pu ON pu.id = p.run_id "+
		"WHERE h.name = ? ORDER BY c.at DESC"+db.Limit, clean(host), estate.MaxChanges)
	if err != nil {
		return nil, fmt.Errorf("read the changes of %s: %w", host, err)
	}
	out := map[string]time.Time{}
	for _, row := range rows {
		if !may.May(row.Scope) || !may.May(row.Before) {
			continue
		}
		list, err := s.list(row.Codec, row.Facts)
		if err != nil {
			return nil, fmt.Errorf("read the changes of %s: %w", host, err)
		}
		for i := 0; i+2 < len(list); i += 3 {
			if _, ok := out[list[i]]; !ok {
				out[list[i]] = time.UnixMicro(row.At).UTC()
			}
		}
	}
	return out, nil
}
