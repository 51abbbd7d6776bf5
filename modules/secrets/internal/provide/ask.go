package provide

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/writ-automation/writ/modules/secrets/internal/lease"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/secrets"
)

const (
	// engineTime bounds one call of an engine.
	engineTime = 30 * time.Second
	// engineCalls bounds the concurrent engine calls for one owner.
	engineCalls = 8
	// maxValue bounds an engine's value, in bytes.
	maxValue = 1 << 20
)

// answer is the result for one credential.
type answer struct {
	entry *lease.Entry
	err   error
}

// ask fetches secrets from the sources and fills the credentials. It returns what was minted. After a fault it has
// revoked everything.
func (p *Provider) ask(ctx context.Context, o secrets.Owner, list []*unsealed) ([]*lease.Entry, error) {
	bound, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make([]answer, len(list))
	slots := make(chan struct{}, engineCalls)
	var work sync.WaitGroup
	for i, u := range list {
		if u.Source == nil {
			continue
		}
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			if answers[i].entry, answers[i].err = p.askOne(bound, o, u); answers[i].err != nil {
				cancel() // the other results are no longer needed
			}
		})
	}
	work.Wait()
	var tracked []*lease.Entry
	var fault error
	for _, a := range answers {
		if a.entry != nil {
			tracked = append(tracked, a.entry)
		}
		if a.err != nil && (fault == nil || errors.Is(fault, context.Canceled)) {
			fault = a.err
		}
	}
	if fault != nil {
		p.Ledger.Revoke(context.WithoutCancel(ctx), tracked)
		return nil, fault
	}
	return tracked, nil
}

// askOne calls the engine of one credential. It may return both an entry and a fault.
func (p *Provider) askOne(ctx context.Context, o secrets.Owner, u *unsealed) (*lease.Entry, error) {
	engine, ok := p.Engines[u.Source.Engine]
	if !ok || engine.Resolver == nil && engine.Minter == nil {
		return nil, unresolved(u.Credential, "is not installed here")
	}
	config := config(u)
	got, err := lease.Do(ctx, p.Calls, u.Source.Engine, engineTime, func(ctx context.Context) (minted, error) {
		if engine.Minter != nil {
			// An engine that is cancelled while it mints may have created a secret without returning it. The late
			// function below revokes the secret.
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), engineTime)
			defer cancel()
		}
		return call(ctx, engine, clone(config))
	}, func(got minted, _ error) {
		// The caller no longer waits for it.
		ctx := context.WithoutCancel(ctx)
		if tracked, err := p.Ledger.Record(ctx, o, u.ID, u.Source.Engine, config, got.lease); err == nil && tracked != nil {
			p.Ledger.Revoke(ctx, []*lease.Entry{tracked})
		}
	})
	tracked, noted := p.Ledger.Record(ctx, o, u.ID, u.Source.Engine, config, got.lease)
	switch {
	case noted != nil:
		return nil, noted
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return tracked, fmt.Errorf("ask for the secret of the credential %s: %w", u.ID, context.Canceled)
	case errors.Is(err, lease.ErrSilent):
		return tracked, unresolved(u.Credential, "did not answer in time")
	case err != nil:
		return tracked, refused(u.Credential, lease.Redact(err, append(lease.Texts(u.document.Source), got.value)...))
	case len(got.value) > maxValue:
		return tracked, unresolved(u.Credential, fmt.Sprintf("gave more than %d bytes", maxValue))
	}
	if text := fill(u, got.value); text != "" {
		return tracked, unresolved(u.Credential, text)
	}
	return tracked, nil
}

// refused is the fault of an engine that returned an error, with the redacted message.
func refused(c secrets.Credential, message string) error {
	if message == "" {
		return unresolved(c, "did not give the secret")
	}
	return unresolved(c, "did not give the secret: "+message)
}

// minted is the result of an engine. It has no lease if the engine only fetches.
type minted struct {
	value string
	lease *extension.SecretLease
}

func call(ctx context.Context, e extension.Engine, config map[string]any) (got minted, err error) {
	if e.Minter != nil {
		got.value, got.lease, err = e.Minter.Mint(ctx, config)
		return got, err
	}
	got.value, err = e.Resolver.Resolve(ctx, config)
	return got, err
}

// config returns the whole config of a source, its secret members included.
func config(u *unsealed) map[string]any {
	out := clone(u.Source.Config)
	maps.Copy(out, clone(u.document.Source))
	return out
}

// clone copies a document, so that an engine cannot change the original.
func clone(doc map[string]any) map[string]any {
	out := make(map[string]any, len(doc))
	for name, value := range doc {
		out[name] = cloneValue(value)
	}
	return out
}

func cloneValue(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return clone(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = cloneValue(e)
		}
		return out
	case json.Number:
		// encoding/json decodes numbers so, and the engine validated the config in this form.
		f, err := v.Float64()
		if err != nil {
			return v
		}
		return f
	default:
		return value
	}
}
