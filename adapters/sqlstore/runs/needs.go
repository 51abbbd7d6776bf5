package runs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
)

// What credentials a run needs is in its documents alone: it decides nothing about who may read the run, and runs come and go far more
// often than somebody asks which of those that have not ended need a credential.

// likely are the runs that have not ended and in whose documents the text is found, with those documents, the oldest first. Where it is
// found, and whether in just this case, is for the documents to say.
const likely = "SELECT r.id, r.spec, (SELECT d.graph FROM run_documents AS d WHERE d.run_seq = r.seq) FROM runs AS r " +
	"WHERE r.parent_id IS NULL AND r.status IN ('pending_approval', 'pending', 'running') AND (r.spec LIKE ? ESCAPE '!' OR r.kind = 'pipeline' AND " +
	"EXISTS (SELECT 1 FROM run_documents AS d WHERE d.run_seq = r.seq AND d.graph LIKE ? ESCAPE '!')) ORDER BY r.created_at, r.seq"

var exactly = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// needing returns the first runs that have not ended and name a credential, themselves or in a step, and how many there are.
func needing(ctx context.Context, q bun.IDB, credential string, limit int) (list []string, total int, err error) {
	quoted, err := document(credential, true)
	if err != nil {
		return nil, 0, err
	}
	pattern := "%" + exactly.Replace(fmt.Sprint(quoted)) + "%"
	found, err := db.All(ctx, q, func(r db.Row) (string, error) { return whoNeeds(r, credential) }, likely, pattern, pattern)
	if err != nil {
		return nil, 0, fmt.Errorf("look for runs that need a credential: %w", err)
	}
	found = slices.DeleteFunc(found, func(id string) bool { return id == "" })
	return found[:min(max(limit, 0), len(found))], len(found), nil
}

// names are what credentials a document of a run names, itself or in its steps.
type names struct {
	CredentialIDs []string `json:"credential_ids"`
	Steps         []names  `json:"steps"`
}

func (n names) have(credential string) bool {
	return slices.Contains(n.CredentialIDs, credential) || slices.ContainsFunc(n.Steps, func(x names) bool { return x.have(credential) })
}

// whoNeeds reads a run and returns its id, empty where it does not name the credential.
func whoNeeds(r db.Row, credential string) (string, error) {
	var id string
	var spec, graph text
	if err := r.Scan(&id, &spec, &graph); err != nil {
		return "", err
	}
	for _, doc := range []text{spec, graph} {
		var of names
		if err := doc.decode(&of); err != nil {
			return "", err
		}
		if of.have(credential) {
			return id, nil
		}
	}
	return "", nil
}
