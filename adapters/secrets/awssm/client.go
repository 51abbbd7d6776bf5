package awssm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/writ-automation/writ/platform/egress"
)

// identityTimeout is how long one question for the server's own identity may take.
const identityTimeout = 10 * time.Second

// read asks for the current version of a secret.
func (e *Engine) read(ctx context.Context, src source) (*secretsmanager.GetSecretValueOutput, error) {
	settings, err := e.settings(ctx, src)
	if err != nil {
		return nil, err
	}
	options := e.conf.Options
	if roots := bundle(settings); roots != nil {
		if options.TLS = options.TLS.Clone(); options.TLS == nil {
			options.TLS = &tls.Config{}
		}
		options.TLS.RootCAs = roots
	}
	client := egress.Client(e.conf.Policy, options)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	defer client.CloseIdleConnections()
	out, err := secretsmanager.NewFromConfig(settings, func(o *secretsmanager.Options) {
		o.HTTPClient = settled{client}
		if e.conf.Endpoint != "" {
			o.BaseEndpoint = aws.String(e.conf.Endpoint)
		}
	}).GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: aws.String(src.secret)})
	if err != nil {
		return nil, failure(ctx, err)
	}
	return out, nil
}

// settled is a client that says which of its errors no second try changes.
type settled struct{ client *http.Client }

func (s settled) Do(req *http.Request) (*http.Response, error) {
	resp, err := s.client.Do(req)
	var certificate *tls.CertificateVerificationError
	if errors.Is(err, egress.ErrRefused) || errors.As(err, &certificate) {
		err = final{err}
	}
	return resp, err
}

// final is an error that is not tried again.
type final struct{ error }

// Unwrap returns the error itself.
func (f final) Unwrap() error { return f.error }

// RetryableError is what the SDK asks.
func (f final) RetryableError() bool { return false }

// own is the client that finds the server's own identity. It may ask for metadata at the addresses that AWS has for
// it, and keeps no connection open. The authorities of a bundle are trusted as well, where one is named.
func (e *Engine) own(bundle string) (*awshttp.BuildableClient, error) {
	var more []byte
	if bundle != "" {
		var err error
		if more, err = os.ReadFile(bundle); err != nil { //nolint:gosec // the operator's own
			return nil, err
		}
	}
	valid := true
	p := e.conf.Policy
	p.Allow = slices.Clone(p.Allow)
	for _, a := range []string{"169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "fd00:ec2::254/128", "fd00:ec2::23/128"} {
		p.Allow = append(p.Allow, netip.MustParsePrefix(a))
	}
	client := awshttp.NewBuildableClient().WithTimeout(identityTimeout).WithTransportOptions(func(t *http.Transport) {
		t.Proxy = nil
		t.DialContext = egress.NewDialer(p, e.conf.Options.Resolver).DialContext
		t.DisableKeepAlives = true
		if e.conf.Options.TLS != nil {
			t.TLSClientConfig = e.conf.Options.TLS.Clone()
		}
		if bundle == "" {
			return
		}
		if t.TLSClientConfig == nil {
			t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		roots := x509.NewCertPool()
		if known := t.TLSClientConfig.RootCAs; known != nil {
			roots = known.Clone()
		}
		valid = roots.AppendCertsFromPEM(more)
		t.TLSClientConfig.RootCAs = roots
	})
	if !valid {
		return nil, errors.New("a bundle without certificates")
	}
	return client, nil
}

// unanswered is the error of a question that its time ended.
func unanswered(ctx context.Context) error { return egress.Unanswered(ctx.Err()) }

// bundle returns the authorities that AWS_CA_BUNDLE names, nil for those of the options.
func bundle(settings aws.Config) *x509.CertPool {
	c, ok := settings.HTTPClient.(*awshttp.BuildableClient)
	if !ok || c.GetTransport().TLSClientConfig == nil {
		return nil
	}
	return c.GetTransport().TLSClientConfig.RootCAs
}
