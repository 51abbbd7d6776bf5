package compose

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/actor"
	portclock "github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/secret"
)

// LinkTTL is how long the link of a sign-in works.
const LinkTTL = time.Minute

// The paths of a desktop: the link that signs in, and the question whether it is the desktop of a secret.
const (
	linkPath  = "/desktop/sign-in"
	askPath   = "/desktop/running"
	linkAdmin = "admin" // the account that a link signs in
)

// NewDesktop assembles a server on a loopback address in which links made with the secret sign in its first account.
// It mints no token at the first start. The errors are those of NewServer.
func NewDesktop(s Settings, links secret.Text) (*Server, error) {
	s.links = &signInLinks{secret: links, used: map[string]time.Time{}}
	return NewServer(s)
}

// SignInLink returns an address of a desktop that signs in the browser which opens it, once and within LinkTTL.
func SignInLink(address string, links secret.Text) string {
	code := binary.BigEndian.AppendUint64(nil, uint64(clock.New().Now().UnixMilli())) //nolint:gosec // after 1970
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce) // never fails
	code = append(code, nonce...)
	code = append(code, mac(links, linkPath, string(code))...)
	return "http://" + address + linkPath + "?code=" + url.QueryEscape(base64.RawURLEncoding.EncodeToString(code))
}

// RunningQuestion returns the address that asks whether a desktop knows a secret, and the answer of one that does.
func RunningQuestion(address string, links secret.Text) (question, answer string) {
	challenge := rand.Text()
	return "http://" + address + askPath + "?challenge=" + challenge, answerOf(links, challenge)
}

func answerOf(links secret.Text, challenge string) string {
	return base64.RawURLEncoding.EncodeToString(mac(links, askPath, challenge))
}

// mac authenticates a text for one purpose.
func mac(links secret.Text, purpose, text string) []byte {
	h := hmac.New(sha256.New, []byte(links.Reveal()))
	_, _ = h.Write([]byte(purpose + "\x00" + text)) // never fails
	return h.Sum(nil)
}

// signInLinks are the links that were used and would still work.
type signInLinks struct {
	secret secret.Text
	mu     sync.Mutex
	used   map[string]time.Time // when each was made
}

// take reports whether a code is valid, and uses it up.
func (l *signInLinks) take(text string, now time.Time) bool {
	code, err := base64.RawURLEncoding.DecodeString(text)
	const head, size = 8 + 16, 8 + 16 + sha256.Size
	if err != nil || len(code) != size || !hmac.Equal(code[head:], mac(l.secret, linkPath, string(code[:head]))) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.used, func(_ string, at time.Time) bool { return now.Sub(at) > LinkTTL })
	made := time.UnixMilli(int64(binary.BigEndian.Uint64(code))) //nolint:gosec // made by SignInLink
	_, again := l.used[string(code)]
	if age := now.Sub(made); again || age < -LinkTTL || age > LinkTTL {
		return false
	}
	l.used[string(code)] = made
	return true
}

// signInByLink lets the links of a desktop sign in.
func (s *Settings) signInByLink() fx.Option {
	if s.links == nil {
		return fx.Options()
	}
	return fx.Decorate(func(h http.Handler, local identity.LocalSignIn, c portclock.Clock) http.Handler {
		return &linkHandler{Handler: h, links: s.links, local: local, clock: c}
	})
}

// linkHandler answers the paths of a desktop.
type linkHandler struct {
	http.Handler
	links *signInLinks
	local identity.LocalSignIn
	clock portclock.Clock
}

// ServeHTTP answers only requests of this machine for the server's own loopback name.
func (h *linkHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != linkPath && r.URL.Path != askPath {
		h.Handler.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	switch {
	case r.Method != http.MethodGet || !ownMachine(r):
		http.Error(w, "not found", http.StatusNotFound)
	case r.URL.Path == askPath:
		_, _ = w.Write([]byte(answerOf(h.links.secret, r.URL.Query().Get("challenge"))))
	default:
		h.signIn(w, r)
	}
}

func (h *linkHandler) signIn(w http.ResponseWriter, r *http.Request) {
	if !h.links.take(r.URL.Query().Get("code"), h.clock.Now()) {
		http.Error(w, "This link was used or is too old. Start 'writ desktop' again for another one.", http.StatusForbidden)
		return
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	ctx := actor.With(r.Context(), actor.Actor{Type: actor.Anonymous, IP: host})
	made, err := h.local.SignInLocally(ctx, linkAdmin)
	if err != nil {
		http.Error(w, "The sign-in failed.", http.StatusInternalServerError)
		return
	}
	http.SetCookie(w, httpapi.LoopbackSession(made.Secret, made.Token.ExpiresAt))
	http.Redirect(w, r, "/ui/", http.StatusSeeOther)
}

// ownMachine reports whether a request comes from this machine without a proxy, to a loopback address.
func ownMachine(r *http.Request) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host"} {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	host, _, failed := net.SplitHostPort(r.Host)
	return err == nil && peer.Addr().IsLoopback() && failed == nil && loopback(host)
}
