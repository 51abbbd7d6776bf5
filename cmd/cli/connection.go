package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

// connection are the flags that every client command has.
type connection struct{ server, token, context, caFile string }

func (f *connection) register(w environment, c *cobra.Command) {
	c.Flags().StringVar(&f.server, "server", "",
		"address of the server (WRIT_SERVER, else that of the context, else "+defaultServer+")")
	c.Flags().StringVar(&f.token, "token", "", "bearer token (prefer WRIT_TOKEN or 'writ login': other users see flags)")
	f.registerContext(w, c)
}

func (f *connection) registerContext(w environment, c *cobra.Command) {
	c.Flags().StringVar(&f.context, "context", "",
		"`name` of a context of 'writ login' (WRIT_CONTEXT, else the current one)")
	c.Flags().StringVar(&f.caFile, "ca-file", "",
		"`file` of the certificates of a private authority to trust, in PEM (WRIT_CA_FILE, else that of the context)")
	_ = c.RegisterFlagCompletionFunc("context", completeContexts(w))
}

// endpoint is the server of a command and what it takes to speak with it.
type endpoint struct {
	server, token, caFile string
	context               string // the context that it is of; empty for none
	saved                 savedContext
}

// endpoint resolves each value by the first of the flags, the environment and the context that has it. A context that a
// flag names comes before the environment. The token and the authorities of a context are for its own server only.
func (f *connection) endpoint(ctx context.Context, w environment) (endpoint, error) {
	t := endpoint{server: f.server, token: f.token, caFile: cmp.Or(f.caFile, w.env("WRIT_CA_FILE"))}
	name := f.context
	if name == "" {
		name = w.env("WRIT_CONTEXT")
		t.server, t.token = cmp.Or(t.server, w.env("WRIT_SERVER")), cmp.Or(t.token, w.env("WRIT_TOKEN"))
	}
	var err error
	if name != "" || t.server == "" || t.token == "" {
		err = t.complete(ctx, openContexts(w), name)
	}
	if err == nil {
		t.server, err = serverAddress(cmp.Or(t.server, defaultServer))
	}
	t.token = strings.TrimSpace(t.token)
	return t, err
}

// complete adds what a context knows; without a name the current one, if there is any.
func (t *endpoint) complete(ctx context.Context, s contextStore, name string) error {
	f, err := s.read()
	if err != nil {
		return err
	}
	saved, err := f.named(cmp.Or(name, f.Current))
	if err != nil {
		if name == "" {
			return nil
		}
		return err
	}
	t.server = cmp.Or(t.server, saved.Server)
	if at, err := serverAddress(t.server); err != nil || at != saved.Server {
		return err
	}
	t.context, t.saved, t.caFile = cmp.Or(name, f.Current), saved, cmp.Or(t.caFile, saved.CAFile)
	if t.token == "" {
		t.token, err = s.token(ctx, t.context, saved)
	}
	return err
}

// serverAddress completes and checks the address of a server. Equal servers have equal addresses.
func serverAddress(base string) (string, error) {
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", usagef("--server: expected an http or https address")
	}
	u.Host = strings.ToLower(u.Host)
	return strings.TrimRight(u.String(), "/"), nil
}

func (f *connection) client(ctx context.Context, w environment) (*client, error) {
	t, err := f.endpoint(ctx, w)
	if err != nil {
		return nil, err
	}
	return t.client()
}

func (t endpoint) client() (*client, error) {
	transport := http.DefaultTransport
	if t.caFile != "" {
		pool, err := authorities(t.caFile)
		if err != nil {
			return nil, err
		}
		own := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
		own.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
		transport = own
	}
	return &client{base: t.server, token: t.token, at: t, http: &http.Client{
		Transport: transport,
		// A redirect would send the token to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// authorities returns those of the system and of a file.
func authorities(file string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pem, err := small(file)
	if err != nil {
		return nil, usagef("--ca-file: %w", err)
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, usagef("--ca-file: %s has no certificate in PEM", fmt.Sprintf("%q", file))
	}
	return pool, nil
}
