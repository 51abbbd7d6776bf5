package inject

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/ports/secret"
)

// network adds the variables for both kinds of device modules: those that read the environment, and those with a
// connection plugin.
func (p *part) network() {
	password, authorize := p.Secret["password"], p.Secret["authorize_password"]
	p.show("username", "ANSIBLE_NET_USERNAME")
	p.env(password, "ANSIBLE_NET_PASSWORD")
	p.extra("ansible_user", p.setting("username"))
	p.extra("ansible_password", password.Reveal())
	p.extra("ansible_network_os", p.setting("network_os"))
	if authorize == "" {
		return
	}
	p.env("1", "ANSIBLE_NET_AUTHORIZE")
	p.env(authorize, "ANSIBLE_NET_AUTH_PASS")
	p.out.ExtraVars["ansible_become"] = true
	p.extra("ansible_become_method", "enable")
	p.extra("ansible_become_password", authorize.Reveal())
}

func (p *part) extra(name, value string) {
	if value != "" {
		p.out.ExtraVars[name] = value
	}
}

// variables sets the variables of the kind env. Every one of them is hidden.
func (p *part) variables() error {
	vars, err := Variables(p.Secret["vars"])
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if err := variable(name, vars[name]); err != nil {
			return fmt.Errorf("vars: %w", err)
		}
		p.out.Env[name] = secret.Text(vars[name])
		p.hide(secret.Text(vars[name]))
	}
	return nil
}

// Variables parses an object of strings. The error contains nothing of it.
func Variables(text secret.Text) (map[string]string, error) {
	var values map[string]*string
	if err := json.Unmarshal([]byte(text.Reveal()), &values); err != nil || values == nil {
		return nil, errors.New("vars is not an object of strings")
	}
	out := make(map[string]string, len(values))
	for name, value := range values {
		if value == nil {
			return nil, errors.New("vars is not an object of strings")
		}
		out[name] = *value
	}
	return out, nil
}

func (p *part) token() error {
	name := cmp.Or(p.setting("env_name"), "TOKEN")
	if err := variable(name, ""); err != nil {
		return fmt.Errorf("env_name: %w", err)
	}
	p.env(p.Secret["token"], name)
	return nil
}

const (
	dockerHub    = "docker.io"
	dockerHubKey = "https://index.docker.io/v1/"
)

// registry adds a login file in Docker's format. Docker needs its directory, Podman and related tools the file itself.
func (p *part) registry() error {
	server := cmp.Or(p.setting("server"), dockerHub)
	name := p.setting("username")
	// Docker requires a name; servers with token logins ignore it
	name = cmp.Or(name, "token")
	auth := base64.StdEncoding.EncodeToString([]byte(name + ":" + p.Secret["password"].Reveal()))
	config, err := json.Marshal(map[string]any{"auths": map[string]any{registryKey(
		server): map[string]string{"auth": auth}}})
	if err != nil {
		return errors.New("its settings have no form in JSON")
	}
	p.hide(secret.Text(auth))
	file := p.file("config.json", secret.Text(config))
	p.env(secret.Text(secret.FileMark(p.directory())), "DOCKER_CONFIG")
	p.env(secret.Text(secret.FileMark(file)), "REGISTRY_AUTH_FILE")
	p.env(secret.Text(server), "REGISTRY_SERVER")
	p.show("username", "REGISTRY_USERNAME")
	p.env(p.Secret["password"], "REGISTRY_PASSWORD")
	return nil
}

// registryKey returns the key of a registry in a login file: its host, or Docker's older form for its own registry.
func registryKey(server string) string {
	for _, scheme := range []string{"https://", "http://"} {
		server = strings.TrimPrefix(server, scheme)
	}
	server = strings.TrimRight(server, "/")
	switch server {
	case dockerHub, "index.docker.io", "index.docker.io/v1", "registry-1.docker.io", "registry.hub.docker.com":
		return dockerHubKey
	}
	return server
}

func (p *part) aws() {
	p.show("access_key_id", "AWS_ACCESS_KEY_ID")
	p.env(p.Secret["secret_access_key"], "AWS_SECRET_ACCESS_KEY")
	p.env(p.Secret["session_token"], "AWS_SESSION_TOKEN")
	p.show("region", "AWS_REGION", "AWS_DEFAULT_REGION")
}

// azure serves Ansible's collection, Azure's own libraries and Terraform, which name the same differently.
func (p *part) azure() {
	p.show("client_id", "AZURE_CLIENT_ID", "ARM_CLIENT_ID")
	p.env(p.Secret["client_secret"], "AZURE_CLIENT_SECRET", "AZURE_SECRET", "ARM_CLIENT_SECRET")
	p.show("tenant_id", "AZURE_TENANT_ID", "AZURE_TENANT", "ARM_TENANT_ID")
	p.show("subscription_id", "AZURE_SUBSCRIPTION_ID", "ARM_SUBSCRIPTION_ID")
}

func (p *part) gcp() {
	account := p.Secret["service_account_json"]
	if account != "" {
		file := p.file("service_account.json", account)
		p.env(secret.Text(secret.FileMark(file)),
			"GOOGLE_APPLICATION_CREDENTIALS", "GCP_SERVICE_ACCOUNT_FILE", "CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE")
		p.env("serviceaccount", "GCP_AUTH_KIND")
	}
	p.show("project", "GCP_PROJECT", "GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT")
}

func (p *part) vmware() {
	p.show("server", "VMWARE_HOST")
	p.show("username", "VMWARE_USER")
	p.env(p.Secret["password"], "VMWARE_PASSWORD")
	if check, ok := p.Settings["validate_certs"].(bool); ok {
		p.env(secret.Text(strconv.FormatBool(check)), "VMWARE_VALIDATE_CERTS")
	}
}

func (p *part) openStack() {
	p.show("auth_url", "OS_AUTH_URL")
	p.show("username", "OS_USERNAME")
	p.env(p.Secret["password"], "OS_PASSWORD")
	p.show("project_name", "OS_PROJECT_NAME")
	p.show("domain_name", "OS_USER_DOMAIN_NAME", "OS_PROJECT_DOMAIN_NAME")
	p.show("region", "OS_REGION_NAME")
	p.env("3", "OS_IDENTITY_API_VERSION")
}
