package awssm_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/secrets/awssm"
)

// owned is a config that uses the server's own identity.
func owned(t *testing.T, endpoint string) (string, error) {
	t.Helper()
	return awssm.New(conf(endpoint)).Resolve(t.Context(),
		config("app", map[string]any{"access_key_id": nil, "secret_access_key": nil, "field": "password"}))
}

func found(t *testing.T, what, endpoint string) {
	t.Helper()
	if got, err := owned(t, endpoint); err != nil || got != "c4nary value" {
		t.Errorf("%s: %q %v", what, got, err)
	}
}

func inAnHour() string { return time.Now().Add(time.Hour).UTC().Format(time.RFC3339) }

// TestWebIdentity exchanges the token of a workload for a role.
func TestWebIdentity(t *testing.T) {
	home := bare(t)
	file := filepath.Join(home, "token")
	if err := os.WriteFile(file, []byte("the.web.token"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", file)
	t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/writ")
	t.Setenv("AWS_ENDPOINT_URL_STS", serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.ParseForm() != nil || r.Form.Get("Action") != "AssumeRoleWithWebIdentity" ||
			r.Form.Get("WebIdentityToken") != "the.web.token" ||
			!strings.HasSuffix(r.Form.Get("RoleArn"), "role/writ") {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "text/xml")
		_, _ = fmt.Fprintf(w,
			`<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>`+
				`<Credentials><AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration>`+
				`</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, keyID, key, session,
			inAnHour())
	}))
	found(t, "a web identity", serve(t, manager(t, session)))
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", filepath.Join(home, "none"))
	if _, err := owned(t, serve(t, manager(t, session))); err == nil || strings.Contains(err.Error(), home) {
		t.Errorf("without the token: %v", err)
	}
}

// TestInstanceRole reads the metadata of an instance by version 2 of its protocol.
func TestInstanceRole(t *testing.T) {
	bare(t)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", serve(t, func(w http.ResponseWriter, r *http.Request) {
		const roles = "/latest/meta-data/iam/security-credentials/"
		switch {
		case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
			_, _ = fmt.Fprint(w, "the-token")
		case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "the-token":
			http.Error(w, "no", http.StatusUnauthorized)
		case r.URL.Path == roles:
			_, _ = fmt.Fprint(w, "writ")
		case r.URL.Path == roles+"writ":
			answer(w, http.StatusOK, map[string]any{
				"Code": "Success", "AccessKeyId": keyID, "SecretAccessKey": key, "Token": session, "Expiration": inAnHour(),
			})
		default:
			http.NotFound(w, r)
		}
	}))
	found(t, "the role of an instance", serve(t, manager(t, session)))
}

// TestSharedFiles reads the profile that the environment names from both files.
func TestSharedFiles(t *testing.T) {
	home := bare(t)
	save := func(name, text string) {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	save("config", "# all of it\n[default]\nregion = us-east-1\n[ profile  ops ]\n; mine\nregion="+region+
		"\ns3 =\n  region = nowhere\naws_access_key_id = OTHER\n[profile last]\nregion=x\n")
	save("credentials", "[default]\naws_access_key_id = NOBODY\naws_secret_access_key = no\n[ops]\nAWS_ACCESS_KEY_ID = "+
		keyID+"\naws_secret_access_key= "+key+"\naws_session_token ="+session+"\n")
	t.Setenv("AWS_PROFILE", "ops")
	got, err := awssm.New(conf(serve(t, manager(t, session)))).Resolve(t.Context(), config("app",
		map[string]any{"access_key_id": nil, "secret_access_key": nil, "region": nil, "field": "password"}))
	if err != nil || got != "c4nary value" {
		t.Errorf("%q %v", got, err)
	}
	if err := os.Mkdir(filepath.Join(home, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(home, "dir"))
	if _, err := owned(t, ""); err == nil ||
		!strings.HasSuffix(err.Error(), "the server's environment for AWS cannot be used") {
		t.Errorf("a directory: %v", err)
	}
}

// TestProfilesWithPrograms refuses profiles that start a program or need a browser, directly or through other profiles.
func TestProfilesWithPrograms(t *testing.T) {
	home := bare(t)
	ran := filepath.Join(home, "ran")
	sso := "sso_account_id=123456789012\nsso_role_name=writ\n"
	for what, profile := range map[string]string{
		"a program":      "credential_process=/usr/bin/touch " + ran + "\n",
		"a session":      "sso_session=s\n" + sso,
		"a browser":      "sso_start_url=http://127.0.0.1:1\nsso_region=x\n" + sso,
		"a login":        "login_session=arn:aws:iam::123456789012:user/writ\n",
		"another's role": "role_arn=arn:aws:iam::123456789012:role/writ\nsource_profile=other\n",
	} {
		text := "[default]\n" + profile + "[profile other]\ncredential_process=/usr/bin/touch " + ran +
			"\n[sso-session s]\nsso_region=x\nsso_start_url=http://127.0.0.1:1\n"
		if err := os.WriteFile(filepath.Join(home, "config"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := owned(t, ""); err == nil ||
			!strings.HasSuffix(err.Error(), "needs a browser or a program, which is not supported") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := os.Stat(ran); !os.IsNotExist(err) {
		t.Errorf("a program ran: %v", err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", keyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", key)
	found(t, "variables come first", serve(t, manager(t, "")))
}

// TestAgentsElsewhere refuses plain HTTP to credential agents on other machines.
func TestAgentsElsewhere(t *testing.T) {
	bare(t)
	for _, at := range []string{"http://example.com/creds", "http://10.0.0.1/creds", "ftp://127.0.0.1/x", "http://%zz",
		"http://169.254.169.254/latest"} {
		t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", at)
		if _, err := owned(t, ""); err == nil ||
			!strings.HasSuffix(err.Error(), "is not the address of an agent on this machine") {
			t.Errorf("%s: %v", at, err)
		}
	}
}
