package awssm

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// The SDK's package config finds the same identities and more: those of people, who sign in by a browser. What it
// takes for that is more than the rest of this engine, so that the identities of servers are looked for here.

// maxShared bounds a shared file, in bytes.
const maxShared = 1 << 20

// first returns the first variable of these names that is set.
func first(names ...string) string {
	for _, name := range names {
		if v := os.Getenv(name); v != "" {
			return v
		}
	}
	return ""
}

// endpoint returns the address that a variable of a service, or that of all services, names; nil for that of the
// region.
func endpoint(service string) *string {
	if at := first(service, "AWS_ENDPOINT_URL"); at != "" {
		return &at
	}
	return nil
}

// profile is what the shared files of AWS say of one.
type profile map[string]string

// shared reads the profile of the environment from both shared files; that for secrets rules.
func shared() (profile, error) {
	name := cmp.Or(first("AWS_PROFILE", "AWS_DEFAULT_PROFILE"), "default")
	home, _ := os.UserHomeDir() // none is one without shared files
	out := profile{}
	section := "profile " + name
	if name == "default" {
		section = name
	}
	for _, f := range []struct{ path, section string }{
		{cmp.Or(os.Getenv("AWS_CONFIG_FILE"), filepath.Join(home, ".aws", "config")), section},
		{cmp.Or(os.Getenv("AWS_SHARED_CREDENTIALS_FILE"), filepath.Join(home, ".aws", "credentials")), name},
	} {
		if err := out.read(f.path, f.section); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, errors.New("a shared file of AWS cannot be read")
		}
	}
	return out, nil
}

// read adds a section of an INI file. Indented lines belong to settings that are not looked at.
func (p profile) read(path, section string) error {
	f, err := os.Open(path) //nolint:gosec // the operator's own
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	here := false
	lines := bufio.NewScanner(io.LimitReader(f, maxShared))
	for lines.Scan() {
		line := lines.Text()
		trimmed := strings.TrimSpace(line)
		if inner, ok := strings.CutPrefix(trimmed, "["); ok {
			inner, _, _ = strings.Cut(inner, "]")
			here = strings.Join(strings.Fields(inner), " ") == section
			continue
		}
		key, value, ok := strings.Cut(trimmed, "=")
		if !here || !ok || strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") || strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, ";") {
			continue
		}
		p[strings.ToLower(strings.TrimSpace(key))] = strings.TrimSpace(value)
	}
	return lines.Err()
}

// identity returns where the server's own identity comes from: variables, a shared file, a web identity, the role of
// a container, or that of an instance, in this order.
func identity(settings aws.Config, p profile) (aws.CredentialsProvider, error) {
	id, key := first("AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY"), first("AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY")
	token, role := os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"), os.Getenv("AWS_ROLE_ARN")
	switch {
	case id != "" && key != "":
		return credentials.NewStaticCredentialsProvider(id, key, os.Getenv("AWS_SESSION_TOKEN")), nil
	case p["aws_access_key_id"] != "" && p["aws_secret_access_key"] != "":
		return credentials.NewStaticCredentialsProvider(p["aws_access_key_id"], p["aws_secret_access_key"], p["aws_session_token"]), nil
	case token != "" && role != "":
		settings.BaseEndpoint = endpoint("AWS_ENDPOINT_URL_STS")
		return stscreds.NewWebIdentityRoleProvider(sts.NewFromConfig(settings), role, stscreds.IdentityTokenFile(token),
			func(o *stscreds.WebIdentityRoleOptions) { o.RoleSessionName = os.Getenv("AWS_ROLE_SESSION_NAME") }), nil
	}
	if at := first("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"); at != "" {
		return container(settings, at)
	}
	return ec2rolecreds.New(func(o *ec2rolecreds.Options) { o.Client = imds.New(imds.Options{HTTPClient: settings.HTTPClient}) }), nil
}

// container asks the agent of a container for its role. What it says travels in the clear on the machine alone, or to
// the addresses that AWS has for agents.
func container(settings aws.Config, at string) (aws.CredentialsProvider, error) {
	if strings.HasPrefix(at, "/") {
		at = "http://169.254.170.2" + at
	}
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "https" && (u.Scheme != "http" || !agent(u.Hostname())) {
		return nil, errors.New("no agent of a container is at this address")
	}
	return endpointcreds.New(at, func(o *endpointcreds.Options) {
		o.HTTPClient = settings.HTTPClient
		o.AuthorizationToken = os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")
		if file := os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); file != "" {
			o.AuthorizationTokenProvider = endpointcreds.TokenProviderFunc(func() (string, error) {
				token, err := os.ReadFile(file) //nolint:gosec // the operator's own
				return string(token), err
			})
		}
	}), nil
}

// agent reports whether an address may be that of a container's agent.
func agent(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.IsLoopback() || ip == netip.MustParseAddr("169.254.170.2") || ip == netip.MustParseAddr("169.254.170.23") ||
		ip == netip.MustParseAddr("fd00:ec2::23"))
}

// settings are those of the standard environment, with what the config says over them. The identity in them is there
// already.
func (e *Engine) settings(ctx context.Context, src source) (aws.Config, error) {
	p, err := shared()
	if err != nil {
		return aws.Config{}, err
	}
	out := aws.Config{Region: cmp.Or(src.region, first("AWS_REGION", "AWS_DEFAULT_REGION"), p["region"])}
	if out.HTTPClient, err = e.own(cmp.Or(os.Getenv("AWS_CA_BUNDLE"), p["ca_bundle"])); err != nil {
		return aws.Config{}, errors.New("the server's environment for AWS cannot be used")
	}
	out.BaseEndpoint = endpoint("AWS_ENDPOINT_URL_SECRETS_MANAGER")
	if out.Region == "" {
		return aws.Config{}, errors.New("there is no region, neither in the config nor in the server's environment")
	}
	if src.keyID != "" {
		out.Credentials = credentials.NewStaticCredentialsProvider(src.keyID, src.key, "")
		return out, nil
	}
	if out.Credentials, err = identity(out, p); err != nil {
		return aws.Config{}, err
	}
	out.Credentials = aws.NewCredentialsCache(out.Credentials)
	if _, err := out.Credentials.Retrieve(ctx); err != nil {
		if ctx.Err() != nil {
			return aws.Config{}, unanswered(ctx)
		}
		return aws.Config{}, errors.New("there is no access key, neither in the config nor in the server's environment")
	}
	return out, nil
}
