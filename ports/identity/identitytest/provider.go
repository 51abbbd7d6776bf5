package identitytest

import (
	"maps"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/identity"
)

// ProviderUnderTest is a provider with a user who signs in at the other side.
type ProviderUnderTest struct {
	Provider identity.Provider
	// Visit opens the URL of a challenge, signs in there, and returns the parameters that the browser brings back.
	Visit func(t *testing.T, c identity.Challenge) url.Values
	// Want is the identity of the user.
	Want identity.External
}

// RunProvider tests an implementation against the contract. open creates a provider for each case.
func RunProvider(t *testing.T, open func(t *testing.T) ProviderUnderTest) {
	t.Helper()
	for name, fn := range map[string]func(*testing.T, ProviderUnderTest){
		"somebody signs in":           signsIn,
		"an answer works once":        completesOnce,
		"the browser that began":      boundToBrowser,
		"an answer that nobody asked": unasked,
		"challenges differ":           challengesDiffer,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fn(t, open(t))
		})
	}
}

func (p ProviderUnderTest) begin(t *testing.T) identity.Challenge {
	t.Helper()
	c, err := p.Provider.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if u, err := url.Parse(c.URL); err != nil || !u.IsAbs() || c.Binding == "" {
		t.Fatalf("the challenge is %+v, %v", c, err)
	}
	return c
}

// refuses completes an invalid answer.
func (p ProviderUnderTest) refuses(t *testing.T, answer url.Values, binding string) {
	t.Helper()
	got, err := p.Provider.Complete(t.Context(), answer, binding, false)
	if diff := cmp.Diff(identity.External{}, got); !identity.BadSignIn.Is(err) || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func signsIn(t *testing.T, p ProviderUnderTest) {
	for range 2 {
		c := p.begin(t)
		got, err := p.Provider.Complete(t.Context(), p.Visit(t, c), c.Binding, false)
		if diff := cmp.Diff(p.Want, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	}
	if l := p.Want.Link; l.Protocol == "" || l.Issuer == "" || l.Subject == "" {
		t.Errorf("the link is %+v", l)
	}
}

func completesOnce(t *testing.T, p ProviderUnderTest) {
	c := p.begin(t)
	answer := p.Visit(t, c)
	var good atomic.Int32
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			_, err := p.Provider.Complete(t.Context(), maps.Clone(answer), c.Binding, false)
			switch {
			case err == nil:
				good.Add(1)
			case !identity.BadSignIn.Is(err):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if good.Load() != 1 {
		t.Errorf("it worked %d times", good.Load())
	}
	p.refuses(t, answer, c.Binding)
}

func boundToBrowser(t *testing.T, p ProviderUnderTest) {
	mine, other := p.begin(t), p.begin(t)
	answer := p.Visit(t, mine)
	for _, binding := range []string{other.Binding, "", "x"} {
		p.refuses(t, answer, binding)
	}
}

func unasked(t *testing.T, p ProviderUnderTest) {
	c := p.begin(t)
	for _, answer := range []url.Values{nil, {}, {"state": {"x"}, "code": {"y"}},
		{"RelayState": {"x"}, "SAMLResponse": {"eA=="}}} {
		p.refuses(t, answer, c.Binding)
	}
}

func challengesDiffer(t *testing.T, p ProviderUnderTest) {
	a, b := p.begin(t), p.begin(t)
	if a.URL == b.URL || a.Binding == b.Binding {
		t.Error("two challenges are alike")
	}
}
