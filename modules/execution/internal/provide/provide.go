package provide

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

// Secrets fetches the secrets of a run's credentials, and hides them in the run's record where that is kept: r is nil
// in a process without records. A panic of a secret engine is an error of its run only. A credential that was changed
// after the run was approved is ApprovalStale.
func Secrets(
	ctx context.Context, p secrets.Provider, r runs.Redactor, o secrets.Owner, a *runs.Approvals, credentials []string,
) (in secrets.Injection, err error) {
	defer func() {
		if p := recover(); p != nil {
			in, err = secrets.Injection{}, panicked(p)
		}
	}()
	if in, err = p.Provide(ctx, o, credentials); err != nil {
		return secrets.Injection{}, fmt.Errorf("get the secrets: %w", err)
	}
	if r != nil {
		if err := r.HideSecrets(ctx, o.ID, in.Hide); err != nil {
			return secrets.Injection{}, fmt.Errorf("hide the secrets: %w", err)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(in.Versions)) {
		if err := a.Confirm(runs.CredentialPart, id, strconv.FormatInt(in.Versions[id], 10)); err != nil {
			return secrets.Injection{}, err
		}
	}
	return in, nil
}

// Inventory returns the inventory of a run. That of an approved run is not refreshed: it is ApprovalStale if it was
// changed after the approval. A shard uses the same inventory as the division of its split, unless it was changed
// meanwhile.
func Inventory(
	ctx context.Context, m catalog.Materials, r *runs.Run,
) (catalog.InventoryText, []runs.Warning, error) {
	id := r.Spec.InventoryID
	text, warnings, err := m.Inventory(ctx, id, r.Kind != runs.Shard && r.Approvals.Binding() == nil)
	if err != nil {
		return text, nil, fmt.Errorf("get the inventory: %w", err)
	}
	sum := sha256.Sum256(text.Content)
	return text, warnings, r.Approvals.Confirm(runs.InventoryPart, id, hex.EncodeToString(sum[:]))
}

// Release releases the secrets that were made for an owner. Its error reports a panic of a secret engine.
func Release(ctx context.Context, p secrets.Provider, o secrets.Owner) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	p.Release(ctx, o)
	return nil
}

// panicked omits the text of a panic, which may contain a secret.
func panicked(p any) error { return fmt.Errorf("a secret engine panicked: %T", p) }

// Sentence returns the reason of a run's end for an error: the text of a fault, since its cause is only for the log.
func Sentence(err error) string {
	const begin = "what the run names could not be provided"
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind == fault.Internal || f.Message == "" {
		return begin
	}
	return begin + ": " + f.Message
}
