package provide_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/secrets"
)

// heeding is an engine that mints slowly. If its context is cancelled meanwhile, it returns nothing.
type heeding struct {
	revoker
	began chan struct{}
}

func (h heeding) Mint(ctx context.Context, config map[string]any) (string, *extension.SecretLease, error) {
	made, lease, err := h.revoker.Mint(ctx, config)
	close(h.began)
	select {
	case <-ctx.Done():
		return "", nil, ctx.Err()
	case <-time.After(200 * time.Millisecond):
		return made, lease, err
	}
}

// TestAnAbandonedMintIsRevoked lets one credential fail while the secret of another one is minted.
func TestAnAbandonedMintIsRevoked(t *testing.T) {
	t.Parallel()
	w := onSQLite(t)
	h := heeding{revoker{newMint()}, make(chan struct{})}
	id := minting(w, h)
	w.resolve("down", func(context.Context, map[string]any) (string, error) {
		<-h.began
		return "", errors.New("out of order")
	})
	_, err := w.Provider.Provide(t.Context(), owner, []string{id, w.sourced(secrets.AWS, "down", nil)})
	if !secrets.Unresolved.Is(err) {
		t.Fatal(err)
	}
	if err := w.Background.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h.mint.living() != 0 || w.leases(owner) != 0 || h.mint.n != 1 {
		t.Errorf("%d made, %d live, %d leases", h.mint.n, h.mint.living(), w.leases(owner))
	}
}

// TestNumbersAreThoseThatWereValidated uses a config with a number.
func TestNumbersAreThoseThatWereValidated(t *testing.T) {
	t.Parallel()
	w := onSQLite(t)
	var got any
	w.resolve("counts", func(_ context.Context, config map[string]any) (string, error) {
		got = config["deep"].(map[string]any)["version"]
		return "value", nil
	})
	provide(t, w, owner, w.sourced(secrets.Token, "counts", map[string]any{"deep": map[string]any{"version": 1}}))
	if got != 1.0 {
		t.Errorf("the engine is told %T %v", got, got)
	}
}
