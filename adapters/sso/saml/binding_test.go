package saml

import (
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/identity"
)

// TestBinding posts a valid answer from other browsers: without a binding, with that of another sign-in, with one that
// is nearly right. Each attempt uses up the request, so that an attacker has only one.
func TestBinding(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		alter func(own, others string) string
		cause string
	}{
		"none":      {func(string, string) string { return "" }, "the browser brought no binding"},
		"another's": {func(_, others string) string { return others }, "the binding is not that of the browser that began"},
		"longer":    {func(own, _ string) string { return own + "A" }, "the binding is not that of the browser that began"},
		"shorter":   {func(own, _ string) string { return own[1:] }, "the binding is not that of the browser that began"},
		"other case": {func(own, _ string) string { return strings.ToUpper(own) },
			"the binding is not that of the browser that began"},
		"white space": {func(own, _ string) string { return " " + own }, "the binding is not that of the browser that began"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			request, relay := b.begin(t)
			_, elsewhere := b.begin(t)
			form := answer(write(t, letter{request: request}.build(t)), relay)
			got, err := b.Complete(t.Context(), form, tc.alter(b.bindings[relay], b.bindings[elsewhere]), false)
			refused(t, b, got, err, tc.cause)
			if strings.Contains(err.Error()+b.log.String(), b.bindings[relay]) {
				t.Error("the binding is told")
			}
			got, err = b.answered(t, form)
			refused(t, b, got, err, "RelayState is unknown, used or expired")
		})
	}
}

// TestUnbound: if no cookie could be set, the binding is not required, and everything else is.
func TestUnbound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i, binding := range []string{"", "of somebody"} {
		request, relay := b.begin(t)
		form := answer(write(t, letter{request: request, assertionID: []string{"_1", "_2"}[i]}.build(t)), relay)
		if got, err := b.Complete(t.Context(), form, binding, true); err != nil || got.Username != "alice" ||
			got.Link.Protocol != identity.SAML {
			t.Errorf("%+v %v", got, err)
		}
		got, err := b.Complete(t.Context(), form, binding, true)
		refused(t, b, got, err, "RelayState is unknown, used or expired")
	}
	request, _ := b.begin(t)
	_, relay := b.begin(t)
	got, err := b.Complete(t.Context(), answer(write(t, letter{request: request, assertionID: "_3"}.build(t)), relay),
		"", true)
	refused(t, b, got, err, "the response answers another request")
}

// TestKeptWithoutBinding has a stored handshake that is too short for a binding.
func TestKeptWithoutBinding(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	request, relay := b.begin(t)
	for hash, kept := range b.fake.handshakes {
		kept.data = []byte(request)[:3]
		b.fake.handshakes[hash] = kept
	}
	form := answer(write(t, letter{request: request}.build(t)), relay)
	for _, unbound := range []bool{false, true} {
		got, err := b.Complete(t.Context(), form, b.bindings[relay], unbound)
		refused(t, b, got, err, "RelayState")
	}
}

// TestOverageUnasked: a server that reads no groups accepts an answer without them.
func TestOverageUnasked(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) { c.GroupsAttr = "" })
	request, relay := b.begin(t)
	l := letter{request: request, attributes: `<saml:Attribute Name="` + overage +
		`"><saml:AttributeValue>https://graph</saml:AttributeValue></saml:Attribute>`}
	form := answer(write(t, l.build(t)), relay)
	if got, err := b.answered(t, form); err != nil || got.Username != "alice" || got.Groups != nil {
		t.Errorf("%+v %v", got, err)
	}
}
