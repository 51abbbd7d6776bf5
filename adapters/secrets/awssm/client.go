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
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/smithy-go/logging"

	"github.com/writ-automation/writ/platform/egress"
)

// patience is how long one question for the server's own identity may take.
const patience = 10 * time.Second

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

// Do implements aws.HTTPClient.
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

// settings are those of the standard environment, with what the config says over them. The identity in them is there already.
func (e *Engine) settings(ctx context.Context, src source) (aws.Config, error) {
	with := []func(*config.LoadOptions) error{config.WithHTTPClient(e.own()), config.WithLogger(logging.Nop{})}
	if src.region != "" {
		with = append(with, config.WithRegion(src.region))
	}
	if src.keyID != "" {
		with = append(with, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(src.keyID, src.key, "")))
	}
	settings, err := config.LoadDefaultConfig(ctx, with...)
	switch {
	case err != nil && ctx.Err() != nil:
		return aws.Config{}, egress.Unanswered(ctx.Err())
	case err != nil:
		return aws.Config{}, errors.New("the server's environment for AWS cannot be used")
	case settings.Region == "":
		return aws.Config{}, errors.New("there is no region, neither in the config nor in the server's environment")
	}
	if _, err := settings.Credentials.Retrieve(ctx); err != nil {
		if ctx.Err() != nil {
			return aws.Config{}, egress.Unanswered(ctx.Err())
		}
		return aws.Config{}, errors.New("there is no access key, neither in the config nor in the server's environment")
	}
	return settings, nil
}

// own is the client that finds the server's own identity. It may ask for metadata at the addresses that AWS has for it, and keeps no
// connection open. AWS_CA_BUNDLE is only taken by a client of this type.
func (e *Engine) own() *awshttp.BuildableClient {
	p := e.conf.Policy
	p.Allow = slices.Clone(p.Allow)
	for _, a := range []string{"169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "fd00:ec2::254/128", "fd00:ec2::23/128"} {
		p.Allow = append(p.Allow, netip.MustParsePrefix(a))
	}
	return awshttp.NewBuildableClient().WithTimeout(patience).WithTransportOptions(func(t *http.Transport) {
		t.Proxy = nil
		t.DialContext = egress.NewDialer(p, e.conf.Options.Resolver).DialContext
		t.DisableKeepAlives = true
		if e.conf.Options.TLS != nil {
			t.TLSClientConfig = e.conf.Options.TLS.Clone()
			if roots := t.TLSClientConfig.RootCAs; roots != nil {
				t.TLSClientConfig.RootCAs = roots.Clone() // what AWS_CA_BUNDLE names is added to it
			}
		}
	})
}

// bundle returns the authorities that AWS_CA_BUNDLE names, nil for those of the options.
func bundle(settings aws.Config) *x509.CertPool {
	c, ok := settings.HTTPClient.(*awshttp.BuildableClient)
	if !ok || c.GetTransport().TLSClientConfig == nil {
		return nil
	}
	return c.GetTransport().TLSClientConfig.RootCAs
}
