package runs

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
)

// The credentials of a run are only in its documents, without an index. They do not decide who may read the run, and
// runs are written much more often than the unfinished runs of a credential are queried.

var exactly = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// needing returns the first unfinished runs that name a credential, directly or in a step, and their total number.
func needing(ctx context.Context, q bun.IDB, credential string, limit int) (list []string, total int, err error) {
	quoted, err := db.Document(credential)
	if err != nil {
		return nil, 0, err
	}
	// The query finds documents that contain the text anywhere and in any case. The decoded documents decide.
	pattern := "%" + exactly.Replace(quoted) + "%"
	var likely []struct {
		ID          string
		Spec, Graph text
	}
	err = q.NewSelect().TableExpr("runs AS r").Join("LEFT JOIN run_documents AS d ON d.run_seq = r.seq").
		ColumnExpr("r.id, r.spec, d.graph").
		Where("r.parent_id IS NULL AND r.status IN ('pending_approval', 'pending', 'running')").
		Where("r.spec LIKE ? ESCAPE '!' OR r.kind = 'pipeline' AND d.graph LIKE ? ESCAPE '!'", pattern, pattern).
		OrderExpr("r.created_at, r.seq").Scan(ctx, &likely)
	if err != nil {
		return nil, 0, db.Wrap(err, "look for runs that need a credential")
	}
	for _, r := range likely {
		var own, steps names
		if err := errors.Join(r.Spec.decode(&own), r.Graph.decode(&steps)); err != nil {
			return nil, 0, err
		}
		if own.have(credential) || steps.have(credential) {
			list = append(list, r.ID)
		}
	}
	return list[:min(max(limit, 0), len(list))], len(list), nil
}

// names holds the credentials that a document of a run names, directly or in its steps.
type names struct {
	CredentialIDs []string `json:"credential_ids"`
	Steps         []names  `json:"steps"`
}

func (n names) have(credential string) bool {
	return slices.Contains(n.CredentialIDs, credential) || slices.ContainsFunc(n.Steps, func(x names) bool {
		return x.have(credential)
	})
}
