package notify

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestAddressesThatMayNotBeReached are refused without a connection, in every notation, and the refusal is reported.
// Keeps T11.
func TestAddressesThatMayNotBeReached(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		in := sinkAt(t, ":0", nil) // of both families
		_, port, err := net.SplitHostPort(in.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		w := newBareFixture(t, harness.Options{DB: dbURL,
			Flags: []string{"--notify-webhook", "http://127.0.0.1:" + port + "/server"}})
		hosts := []string{
			"127.0.0.1", "[::1]", "localhost", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "[::ffff:127.0.0.1]",
			"[::ffff:7f00:1]",
			"[64:ff9b::7f00:1]", "0.0.0.0", "[::]", "127.0.0.1.", "169.254.169.254", "10.0.0.1", "192.168.0.1", "172.16.0.1",
			"[fe80::1]", "[fd00::1]",
			"100.64.0.1", "user:pw@127.0.0.1",
		}
		var targets []obj
		for i, host := range hosts {
			kind := []string{"webhook", "slack", "teams", "ntfy"}[i%4]
			targets = append(targets, obj{"kind": kind, "url": "http://" + host + ":" + port + "/c4nary"})
		}
		targets = append(targets, obj{"kind": "grafana", "url": "http://127.0.0.1:" + port, "key": "c4nary"},
			hook("https://127.0.0.1:"+port+"/c4nary"))
		id := w.Submit(script("true", targets...)).ID
		w.ends(id, "succeeded")
		for _, n := range w.settled(id, len(targets)+1) {
			refused := strings.Contains(n.Reason, "reached") || strings.Contains(n.Reason, "may connect to")
			if n.Status != "failed" || n.Attempts != 1 || !refused ||
				strings.Contains(n.Reason+n.Target, "c4nary") {
				t.Errorf("%+v", n)
			}
		}
		if seen := in.conns.Load(); seen != 0 {
			t.Errorf("%d connections were made", seen)
		}
		w.drops(len(targets) + 1)
	})
}

// TestWhatIsAllowedIsAllThatIs allows one address of this machine, whose receiver redirects to another.
// Keeps T11.
func TestWhatIsAllowedIsAllThatIs(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		secret := sinkAt(t, "127.77.2."+[]string{"1", "2"}[count(dbURL != "")]+":0", nil)
		to := map[string]string{
			"/neighbour": secret.URL + "/x", "/metadata": "http://169.254.169.254/latest/meta-data",
			"/file": "file:///etc/passwd", "/gopher": "gopher://127.0.0.1:70/x",
			"/decimal": strings.Replace(secret.URL, "127.77.2.", "0x7f4d02", 1), "/loop": "/loop",
		}
		in := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
			if next, ok := to[r.URL.Path]; ok {
				w.Header().Set("Location", next)
				w.WriteHeader(http.StatusPermanentRedirect)
			}
		})
		w := newBareFixture(t, harness.Options{DB: dbURL, Flags: []string{"--allow-private-egress", "127.0.0.1/32"}})
		targets := []obj{hook(in.URL + "/good"), hook(secret.URL + "/direct")}
		for path := range to {
			targets = append(targets, hook(in.URL+path))
		}
		id := w.Submit(script("true", targets...)).ID
		w.ends(id, "succeeded")
		delivered := 0
		for _, n := range w.settled(id, len(targets)) {
			switch {
			case n.Status == "delivered":
				delivered++
			case n.Attempts != 1 || !strings.Contains(n.Reason, "redirects") && !strings.Contains(n.Reason, "not allowed"):
				t.Errorf("%+v", n)
			}
		}
		if got := in.at("/good"); delivered != 1 || len(got) != 1 {
			t.Errorf("%d were delivered, %d letters came", delivered, len(got))
		}
		if seen := secret.conns.Load(); seen != 0 {
			t.Errorf("%d connections were made to what is not allowed", seen)
		}
		if got := in.at("/loop"); len(got) > 6 {
			t.Errorf("a redirect was followed %d times", len(got))
		}
	})
}
