package saml

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
)

// here is the address of this server in the tests.
const here = "https://writ.example.com"

// start is the initial time of the tests' clock.
func start() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// fakeClock is a clock that a test sets.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) turn(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// fakeStore stores handshakes according to the contract, with the test's clock. Its unit runs one function at a time.
type fakeStore struct {
	mu         sync.Mutex
	clock      interface{ Now() time.Time }
	handshakes map[[32]byte]entry
	witnessed  map[[32]byte]time.Time
	recorded   []audit.Entry
	lost       error // the error of Record
}

type entry struct {
	kind string
	data []byte
	end  time.Time
}

func newFakeStore(clock interface{ Now() time.Time }) *fakeStore {
	return &fakeStore{clock: clock, handshakes: map[[32]byte]entry{}, witnessed: map[[32]byte]time.Time{}}
}

type inUnit struct{}

func (d *fakeStore) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	return fn(context.WithValue(ctx, inUnit{}, true))
}

// lock fails outside of a unit.
func (d *fakeStore) lock(ctx context.Context) func() {
	if ctx.Value(inUnit{}) == nil {
		panic("the store is used outside of a unit")
	}
	d.mu.Lock()
	return d.mu.Unlock
}

func (d *fakeStore) Record(ctx context.Context, e audit.Entry) error {
	defer d.lock(ctx)()
	if d.lost == nil {
		d.recorded = append(d.recorded, e)
	}
	return d.lost
}

func (d *fakeStore) SaveHandshake(
	ctx context.Context, hash [32]byte, kind string, data []byte, ttl time.Duration,
) error {
	defer d.lock(ctx)()
	d.handshakes[hash] = entry{kind: kind, data: bytes.Clone(data), end: d.clock.Now().Add(ttl)}
	return nil
}

func (d *fakeStore) TakeHandshake(ctx context.Context, hash [32]byte, kind string) ([]byte, error) {
	defer d.lock(ctx)()
	e, ok := d.handshakes[hash]
	if !ok || e.kind != kind || !e.end.After(d.clock.Now()) {
		return nil, identity.HandshakeNotFound.New("no such handshake")
	}
	delete(d.handshakes, hash)
	return e.data, nil
}

func (d *fakeStore) MarkSeen(ctx context.Context, hash [32]byte, ttl time.Duration) (bool, error) {
	defer d.lock(ctx)()
	end, ok := d.witnessed[hash]
	if ok && end.After(d.clock.Now()) {
		return false, nil
	}
	d.witnessed[hash] = d.clock.Now().Add(ttl)
	return true, nil
}

func (d *fakeStore) PurgeHandshakes(context.Context, int) (int, error) { return 0, nil }

// identityKey is a key with its self-signed certificate.
type identityKey struct {
	key  *rsa.PrivateKey
	cert *x509.Certificate
}

func newKey(bits int, from, to time.Time) *identityKey {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		panic(err)
	}
	return certify(key, from, to)
}

func certify(key *rsa.PrivateKey, from, to time.Time) *identityKey {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: from, NotAfter: to,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return &identityKey{key: key, cert: cert}
}

// The keys of the tests, created once: the provider's, its next one, an unknown one and this server's.
var (
	idpKey = sync.OnceValue(func() *identityKey {
		return newKey(2048, start().AddDate(-1, 0, 0), start().AddDate(9, 0, 0))
	})
	nextKey = sync.OnceValue(func() *identityKey {
		return newKey(2048, start().AddDate(-1, 0, 0), start().AddDate(9, 0, 0))
	})
	wrongKey = sync.OnceValue(func() *identityKey {
		return newKey(2048, start().AddDate(-1, 0, 0), start().AddDate(9, 0, 0))
	})
	ownKey = sync.OnceValue(func() *identityKey {
		return newKey(2048, start().AddDate(-1, 0, 0), start().AddDate(9, 0, 0))
	})
)

// files writes a key pair and returns the file names of the certificate and the key.
func (k *identityKey) files(t testing.TB) (cert, key string) {
	t.Helper()
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	der, err := x509.MarshalPKCS8PrivateKey(k.key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: k.cert.Raw}, key: {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// bench is a provider under test with its defect server.
type bench struct {
	*Provider
	clock *fakeClock
	fake  *fakeStore
	idp   *defects
	log   *bytes.Buffer

	mu       sync.Mutex
	bindings map[string]string // by RelayState
}

// newBench creates a provider with metadata from a defect server.
func newBench(t testing.TB, change ...func(*Config)) *bench {
	t.Helper()
	b := &bench{clock: &fakeClock{now: start()}, idp: newDefects(t), log: &bytes.Buffer{}, bindings: map[string]string{}}
	b.fake = newFakeStore(b.clock)
	cfg := Config{MetadataURL: b.idp.server.URL + "/metadata", BaseURL: here, GroupsAttr: "groups"}
	for _, fn := range change {
		fn(&cfg)
	}
	log := slog.New(slog.NewTextHandler(&guarded{w: b.log}, nil))
	p, err := New(cfg, b.fake, b.fake, b.fake, b.clock, b.idp.server.Client(), log)
	if err != nil {
		t.Fatal(err)
	}
	b.Provider = p
	return b
}

// guarded is a log for several goroutines.
type guarded struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (g *guarded) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.w.Write(p)
}

// withKey configures this server's key.
func withKey(t testing.TB) func(*Config) {
	return func(c *Config) { c.CertFile, c.KeyFile = ownKey().files(t) }
}

// begin starts a sign-in and returns the request's id and its RelayState.
func (b *bench) begin(t testing.TB) (request, relay string) {
	t.Helper()
	c, err := b.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	root, err := parse(inflate(t, u.Query().Get("SAMLRequest")), messageBounds())
	if err != nil {
		t.Fatal(err)
	}
	relay = u.Query().Get("RelayState")
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bindings[relay] = c.Binding
	return attr(root, "ID"), relay
}

// answered completes with an answer in the browser that started.
func (b *bench) answered(t testing.TB, form url.Values) (identity.External, error) {
	t.Helper()
	b.mu.Lock()
	binding := b.bindings[form.Get("RelayState")]
	b.mu.Unlock()
	if binding == "" {
		binding = bindingOf(form.Get("RelayState"))
	}
	return b.Complete(t.Context(), form, binding, false)
}

// bindingOf returns the binding of a request of saveRequest.
func bindingOf(relay string) string { return "binding of " + relay }

// answer returns the form that a browser posts.
func answer(doc []byte, relay string) url.Values {
	return url.Values{"SAMLResponse": {base64.StdEncoding.EncodeToString(doc)}, "RelayState": {relay}}
}

// serve answers requests for metadata.
func serve(t testing.TB, metadata func() (int, []byte)) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		status, b := metadata()
		w.WriteHeader(status)
		w.Write(b)
	}))
	t.Cleanup(s.Close)
	return s
}

// saveRequest stores a handshake like a started sign-in.
func saveRequest(d *fakeStore, relay, kind, request string) func(ctx context.Context) error {
	bindingHash := sha256.Sum256([]byte(bindingOf(relay)))
	return func(ctx context.Context) error {
		return d.SaveHandshake(ctx, sha256.Sum256([]byte(relay)), kind, append(bindingHash[:], request...),
			identity.HandshakeTTL)
	}
}
