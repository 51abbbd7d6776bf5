package relayclient

import (
	"context"

	"github.com/writ-automation/writ/ports/secrets"
)

var _ secrets.Provider = (*Secrets)(nil)

// Secrets provides the secrets of a client's claims. They exist only in memory.
type Secrets struct{ claims *claims }

// Secrets returns the provider of the secrets of the client's claims.
func (c *Client) Secrets() *Secrets { return &Secrets{claims: c.claims} }

// Provide returns, once, the secrets of the claim of exactly this owner. A second call is Unresolved, and so is one
// for a claim from before a restart; LeaseLost reports that the owner has no claim here any more.
func (s *Secrets) Provide(_ context.Context, o secrets.Owner, _ []string) (secrets.Injection, error) {
	came, ok, err := s.claims.take(o)
	if err != nil {
		return secrets.Injection{}, err
	}
	if !ok {
		return secrets.Injection{}, secrets.Unresolved.New(
			"the secrets of the run %s came with its claim and were given away", o.ID)
	}
	in, err := came.Injection()
	if err != nil { // the error names a variable and no value
		return secrets.Injection{}, secrets.Unresolved.New(
			"the secrets that came with the claim of the run %s cannot be read: %v", o.ID, err)
	}
	return in, nil
}

// The server adds the warnings when it accepts the run's end.
func (s *Secrets) Warnings(secrets.Owner) []string { return nil }

// Release deletes secrets that were not requested. The server revokes those that were made for the run.
func (s *Secrets) Release(_ context.Context, o secrets.Owner) { s.claims.forget(o) }
