package notify_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	adapter "github.com/writ-automation/writ/adapters/notify"
	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
)

func TestMain(m *testing.M) {
	depthtest.Checks("25", "100") // every channel delivers each draw
	goleak.VerifyTestMain(m)
}

// home allows channels to reach this machine.
func home() egress.Policy {
	return egress.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

// channel returns the channel of one kind.
func channel(t testing.TB, kind string, c adapter.Config) notify.Channel {
	t.Helper()
	list, err := adapter.New(c)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(c notify.Channel) bool { return c.Kind() == kind })
	if i < 0 {
		t.Fatalf("no channel of kind %q", kind)
	}
	return list[i]
}

// TestKinds checks that every kind has exactly one channel.
func TestKinds(t *testing.T) {
	t.Parallel()
	list, err := adapter.New(adapter.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, c := range list {
		got = append(got, c.Kind())
	}
	for _, k := range notify.Kinds() {
		want = append(want, k.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("channels %q, kinds %q", got, want)
	}
}

// TestConfigRefuses tries incomplete accounts and invalid addresses.
func TestConfigRefuses(t *testing.T) {
	t.Parallel()
	whole := adapter.Twilio{SID: "AC1", Token: "c4nary-token", From: "+15550001111"}
	mail := adapter.SMTP{Addr: "mail.example.com:587", From: "Writ <writ@example.com>", Username: "writ",
		Password: "c4nary-password"}
	sms := func(edit func(*adapter.Twilio)) adapter.Config {
		a := whole
		edit(&a)
		return adapter.Config{Twilio: a}
	}
	post := func(edit func(*adapter.SMTP)) adapter.Config {
		a := mail
		edit(&a)
		return adapter.Config{SMTP: a}
	}
	for name, c := range map[string]struct {
		config adapter.Config
		field  string
	}{
		"no sid":             {sms(func(a *adapter.Twilio) { a.SID = "" }), "twilio.sid"},
		"a sid with a path":  {sms(func(a *adapter.Twilio) { a.SID = "AC1/../x" }), "twilio.sid"},
		"no token":           {sms(func(a *adapter.Twilio) { a.Token = "" }), "twilio.token"},
		"no sender":          {sms(func(a *adapter.Twilio) { a.From = "" }), "twilio.from"},
		"a sender of lines":  {sms(func(a *adapter.Twilio) { a.From = "a\nb" }), "twilio.from"},
		"a base that is odd": {sms(func(a *adapter.Twilio) { a.BaseURL = "ftp://x" }), "twilio.base_url"},
		"credentials in it":  {sms(func(a *adapter.Twilio) { a.BaseURL = "https://a:c4nary-x@x" }), "twilio.base_url"},
		"no host":            {post(func(a *adapter.SMTP) { a.Addr = "587" }), "smtp.addr"},
		"no port":            {post(func(a *adapter.SMTP) { a.Addr = "mail.example.com" }), "smtp.addr"},
		"a port of letters":  {post(func(a *adapter.SMTP) { a.Addr = "mail.example.com:smtp" }), "smtp.addr"},
		"no address":         {post(func(a *adapter.SMTP) { a.Addr = "" }), "smtp.addr"},
		"no from":            {post(func(a *adapter.SMTP) { a.From = "" }), "smtp.from"},
		"a from of lines":    {post(func(a *adapter.SMTP) { a.From = "a@b\r\nBcc: c@d" }), "smtp.from"},
		"a quoted from":      {post(func(a *adapter.SMTP) { a.From = `"a> SIZE=1 <b"@example.com` }), "smtp.from"},
		"no password":        {post(func(a *adapter.SMTP) { a.Password = "" }), "smtp.username"},
		"no user":            {post(func(a *adapter.SMTP) { a.Username = "" }), "smtp.username"},
		"a mode":             {post(func(a *adapter.SMTP) { a.TLS = "none" }), "smtp.tls"},
		"incidents":          {adapter.Config{PagerDuty: "events.example.com"}, "pagerduty"},
	} {
		list, err := adapter.New(c.config)
		if !fault.Is(err, fault.Invalid) || list != nil || !strings.HasPrefix(err.Error(), c.field+": ") ||
			strings.Contains(err.Error(), "c4nary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range []adapter.Config{sms(func(*adapter.Twilio) {}), post(func(*adapter.SMTP) {}),
		post(func(a *adapter.SMTP) { a.TLS = adapter.TLSRequired })} {
		if _, err := adapter.New(c); err != nil {
			t.Errorf("a whole account: %v", err)
		}
	}
}

// TestNoAccount checks that a delivery that the server cannot send is refused, and so not tried again.
func TestNoAccount(t *testing.T) {
	t.Parallel()
	for kind, to := range map[string]string{"twilio": "+15550001111", "email": "ada@example.com"} {
		err := channel(t, kind, adapter.Config{}).Deliver(t.Context(), notify.Target{Kind: kind, To: to}, sample())
		if !notify.Refused.Is(err) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
