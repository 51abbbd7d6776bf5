// Package provide gets what a run names, for an executor and for whoever hands the run to one.
package provide

import (
	"context"
	"errors"
	"fmt"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secrets"
)

// Secrets fetches what credentials open. A panic of a secret engine is an error of its run and of nothing else.
func Secrets(ctx context.Context, p secrets.Provider, o secrets.Owner, credentials []string) (in secrets.Injection, err error) {
	defer func() {
		if p := recover(); p != nil {
			in, err = secrets.Injection{}, panicked(p)
		}
	}()
	if in, err = p.Provide(ctx, o, credentials); err != nil {
		return secrets.Injection{}, fmt.Errorf("get the secrets: %w", err)
	}
	return in, nil
}

// Release lets go of what was made for an owner. Its error tells of a panic of a secret engine.
func Release(ctx context.Context, p secrets.Provider, o secrets.Owner) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	p.Release(ctx, o)
	return nil
}

// panicked leaves the text of a panic out: it may hold anything.
func panicked(p any) error { return fmt.Errorf("a secret engine panicked: %T", p) }

// Sentence is what of an error is told as the reason of a run's end: the text of a fault, since its cause is for the
// log.
func Sentence(err error) string {
	const begin = "what the run names could not be provided"
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind == fault.Internal || f.Message == "" {
		return begin
	}
	return begin + ": " + f.Message
}
