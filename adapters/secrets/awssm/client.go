package awssm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/writ-automation/writ/platform/egress"
)

// identityTimeout bounds one request for the server's own identity.
const identityTimeout = 10 * time.Second

// read fetches the current version of a secret.
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

// settled is a client that marks errors which a retry does not change.
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

// RetryableError implements an interface of the SDK.
func (f final) RetryableError() bool { return false }

// own returns the client that fetches the server's own identity. It may dial the addresses at which AWS serves
// metadata, and keeps no connection open.
func (e *Engine) own() *awshttp.BuildableClient {
	p := e.conf.Policy
	p.Allow = slices.Clone(p.Allow)
	for _, a := range []string{"169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "fd00:ec2::254/128",
		"fd00:ec2::23/128"} {
		p.Allow = append(p.Allow, netip.MustParsePrefix(a))
	}
	return awshttp.NewBuildableClient().WithTimeout(identityTimeout).WithTransportOptions(func(t *http.Transport) {
		t.Proxy = nil
		t.DialContext = egress.NewDialer(p, e.conf.Options.Resolver).DialContext
		t.DisableKeepAlives = true
		t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		if e.conf.Options.TLS != nil {
			t.TLSClientConfig = e.conf.Options.TLS.Clone()
		}
		if known := t.TLSClientConfig.RootCAs; known != nil { // the library adds those of AWS_CA_BUNDLE
			t.TLSClientConfig.RootCAs = known.Clone()
		}
	})
}

// bundle returns the authorities of the options and of AWS_CA_BUNDLE, nil for those of the machine.
func bundle(settings aws.Config) *x509.CertPool {
	c, ok := settings.HTTPClient.(*awshttp.BuildableClient)
	if !ok || c.GetTransport().TLSClientConfig == nil {
		return nil
	}
	return c.GetTransport().TLSClientConfig.RootCAs
}
