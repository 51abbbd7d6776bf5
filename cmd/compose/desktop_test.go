package compose

import (
	"net/url"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/clock"
)

// codeOf returns the code of a link.
func codeOf(t *testing.T, link string) string {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil || u.Query().Get("code") == "" {
		t.Fatalf("%s: %v", link, err)
	}
	return u.Query().Get("code")
}

// TestSignInLinks takes a link once, while it is new, and of the own secret only.
func TestSignInLinks(t *testing.T) {
	t.Parallel()
	l := &signInLinks{secret: "secret", used: map[string]time.Time{}}
	now := clock.New().Now()
	link := codeOf(t, SignInLink("127.0.0.1:1", "secret"))
	for name, bad := range map[string]string{
		"nothing": "", "no code": "x", "a shorter one": link[:20],
		"another secret": codeOf(t, SignInLink("127.0.0.1:1", "other")),
		"another time":   "AAAA" + link[4:],
	} {
		if l.take(bad, now) {
			t.Errorf("%s is taken", name)
		}
	}
	if l.take(link, now.Add(LinkTTL+time.Second)) {
		t.Error("an old link is taken")
	}
	if !l.take(link, now) || l.take(link, now) {
		t.Error("a link is not taken once")
	}
	if l.take(link, now.Add(LinkTTL/2)) || len(l.used) != 1 {
		t.Error("a used link is forgotten too early")
	}
	later := now.Add(3 * LinkTTL)
	if l.take(codeOf(t, SignInLink("127.0.0.1:1", "secret")), later) {
		t.Error("an old link is taken later")
	}
	if len(l.used) != 0 {
		t.Errorf("%d used links are kept for ever", len(l.used))
	}
	if q, answer := RunningQuestion("127.0.0.1:1", "secret"); q == "" || answer != answerOf("secret", q[len(q)-26:]) {
		t.Errorf("%s has the answer %s", q, answer)
	}
}
