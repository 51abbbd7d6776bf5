package runs

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
)

// What credentials a run needs is in its documents alone: it decides nothing about who may read the run, and runs
// come and go far more often than somebody asks which of those that have not ended need a credential.

var exactly = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// needing returns the first runs that have not ended and name a credential, themselves or in a step, and how many
// there are.
func needing(ctx context.Context, q bun.IDB, credential string, limit int) (list []string, total int, err error) {
	quoted, err := db.Document(credential)
	if err != nil {
		return nil, 0, err
	}
	// The documents in which the text is found, wherever and in whatever case, say the rest.
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

// names are what credentials a document of a run names, itself or in its steps.
type names struct {
	CredentialIDs []string `json:"credential_ids"`
	Steps         []names  `json:"steps"`
}

func (n names) have(credential string) bool {
	return slices.Contains(n.CredentialIDs, credential) || slices.ContainsFunc(n.Steps, func(x names) bool {
		return x.have(credential)
	})
}
