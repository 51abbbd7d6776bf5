package relayclient

import (
	"context"

	"github.com/writ-automation/writ/ports/secrets"
)

var _ secrets.Provider = (*Secrets)(nil)

// Secrets are those that came with the claims of a client. They are in memory and nowhere else.
type Secrets struct{ claims *claims }

// Secrets returns the secrets of what the client claims.
func (c *Client) Secrets() *Secrets { return &Secrets{claims: c.claims} }

// Provide implements secrets.Provider: it returns, once, what came with the claim of exactly this owner. A second
// call is Unresolved, and so is one for a claim of an earlier life; LeaseLost says that the owner has no claim here
// any more.
func (s *Secrets) Provide(_ context.Context, o secrets.Owner, _ []string) (secrets.Injection, error) {
	came, ok, err := s.claims.take(o)
	if err != nil {
		return secrets.Injection{}, err
	}
	if !ok {
		return secrets.Injection{}, secrets.Unresolved.New("the secrets of the run %s came with its claim and were given away", o.ID)
	}
	in, err := came.Injection()
	if err != nil { // its text names a variable and no value
		return secrets.Injection{}, secrets.Unresolved.New("the secrets that came with the claim of the run %s cannot be read: %v", o.ID, err)
	}
	return in, nil
}

// The server adds them when it takes the run's end.
func (s *Secrets) Warnings(secrets.Owner) []string { return nil }

// Release implements secrets.Provider: it forgets what was not asked for. What was made for the run the server revokes.
func (s *Secrets) Release(_ context.Context, o secrets.Owner) { s.claims.forget(o) }
