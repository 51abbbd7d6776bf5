package awssm

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"os"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"

	"github.com/writ-automation/writ/platform/egress"
)

// settings returns the settings of the server's environment; the credential's config overrides them. It fetches the
// identity.
func (e *Engine) settings(ctx context.Context, src source) (aws.Config, error) {
	client := e.own()
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(client),
		config.WithDefaultsMode(aws.DefaultsModeStandard), // another mode may read the metadata of the instance
		config.WithEndpointCredentialOptions(func(o *endpointcreds.Options) { o.HTTPClient = client }),
	}
	if src.region != "" {
		options = append(options, config.WithRegion(src.region))
	}
	if src.keyID != "" {
		options = append(options,
			config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(src.keyID, src.key, "")))
	} else if !localAgent(os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")) {
		return aws.Config{}, errors.New("AWS_CONTAINER_CREDENTIALS_FULL_URI is not the address of an agent on this machine")
	}
	out, err := config.LoadDefaultConfig(ctx, options...)
	switch {
	case err != nil:
		return aws.Config{}, errors.New("the server's environment for AWS cannot be used")
	case out.Region == "":
		return aws.Config{}, errors.New("there is no region, neither in the config nor in the server's environment")
	case src.keyID != "":
		return out, nil
	case !usable(out.Credentials):
		return aws.Config{}, errors.New("the server's profile of AWS needs a browser or a program, which is not supported")
	}
	if _, err := out.Credentials.Retrieve(ctx); err != nil {
		if ctx.Err() != nil {
			return aws.Config{}, egress.Unanswered(ctx.Err())
		}
		return aws.Config{}, errors.New("there is no access key, neither in the config nor in the server's environment")
	}
	return out, nil
}

// usable reports whether a provider of the environment works without a browser and without another program. The
// library has called neither yet.
func usable(p aws.CredentialsProvider) bool {
	chain, ok := p.(aws.CredentialProviderSource)
	return ok && !slices.ContainsFunc(chain.ProviderSources(), func(s aws.CredentialSource) bool {
		switch s {
		case aws.CredentialSourceProcess, aws.CredentialSourceSSO, aws.CredentialSourceSSOLegacy, aws.CredentialSourceLogin:
			return true
		}
		return false
	})
}

// localAgent reports whether the agent of a container may be at an address: with TLS anywhere, without it only on this
// machine or at the addresses of AWS. The library would look up any name, without the deadline of the call.
func localAgent(at string) bool {
	u, err := url.Parse(at)
	switch {
	case err != nil:
		return false
	case at == "" || u.Scheme == "https" || u.Scheme == "http" && u.Hostname() == "localhost":
		return true
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && u.Scheme == "http" && (ip.IsLoopback() || ip == netip.MustParseAddr("169.254.170.2") ||
		ip == netip.MustParseAddr("169.254.170.23") || ip == netip.MustParseAddr("fd00:ec2::23"))
}
