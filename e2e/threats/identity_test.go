package threats

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// sink is a server that stores what it is sent.
type sink struct {
	*httptest.Server
	mu   sync.Mutex
	text strings.Builder
	hits []string
}

func newSink(t *testing.T) *sink {
	t.Helper()
	k := &sink{}
	k.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil {
			t.Error(err)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		fmt.Fprintln(&k.text, r.Method, r.URL, r.Header, string(body))
		k.hits = append(k.hits, r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data": {"data": {"password": "a value"}}, "_meta": {"hostvars": {}}}`)
	}))
	t.Cleanup(k.Close)
	return k
}

func (k *sink) seen() (text string, hits []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.String(), slices.Clone(k.hits)
}

// ambient is what the machine of the server would authenticate with: variables, and files of the home directory. All of
// it contains the mark.
func ambient(t *testing.T, mark, host string) (env []string) {
	t.Helper()
	home := t.TempDir()
	for name, text := range map[string]string{
		".netrc":     "machine " + host + " login " + mark + " password " + mark + "\n",
		".gitconfig": "[credential]\n\thelper = store\n[http]\n\textraHeader = X-Mark: " + mark + "\n",
		".git-credentials": "http://" + mark + ":" + mark + "@" + host + "\nhttps://" + mark + ":" + mark + "@" +
			host + "\n",
		".vault-token":             mark,
		".aws/credentials":         "[default]\naws_access_key_id = " + mark + "\naws_secret_access_key = " + mark + "\n",
		".config/gcloud/adc.json":  `{"type": "authorized_user", "refresh_token": "` + mark + `"}`,
		".docker/config.json":      `{"auths": {"` + host + `": {"auth": "` + mark + `"}}}`,
		".ansible/galaxy_token":    "token: " + mark + "\n",
		".config/git/credentials":  "http://" + mark + ":" + mark + "@" + host + "\n",
		".azure/accessTokens.json": `[{"accessToken": "` + mark + `"}]`,
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env = []string{"HOME=" + home, "GOOGLE_APPLICATION_CREDENTIALS=" + filepath.Join(home, ".config/gcloud/adc.json")}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "VAULT_TOKEN",
		"AZURE_CLIENT_SECRET",
		"AZURE_CLIENT_ID", "AZURE_TENANT_ID", "GITHUB_TOKEN", "ANSIBLE_GALAXY_TOKEN", "WRIT_SMTP_PASSWORD",
		"WRIT_TWILIO_TOKEN"} {
		env = append(env, name+"="+mark)
	}
	return append(env, "AWS_REGION=eu-central-1")
}

// TestTheServersIdentityStaysHome has secret engines, inventories, projects and notifications of every kind call an
// address that a user chose, on a machine with identities for everything. None of them arrives there, and neither does
// a stored secret after its address was changed.
// Keeps T60.
func TestTheServersIdentityStaysHome(t *testing.T) {
	t.Parallel()
	const mark, own = "c4n4ryOfTheMachine", "a-token-of-the-credential"
	k, changed := newSink(t), newSink(t)
	host := strings.TrimPrefix(k.URL, "http://")
	s := harness.Start(t, harness.Options{Env: append(ambient(t, mark, host), "WRIT_WORKER_TOKEN="+harness.WorkerToken),
		Flags: []string{"--allow-private-egress", "127.0.0.1/32", "--twilio-sid", "AC" + strings.Repeat("0", 32),
			"--twilio-from", "+4912345",
			"--smtp-addr", "127.0.0.1:1", "--smtp-from", "a@example.com", "--smtp-username", "writ"}})
	runs := 0
	run := func(body harness.Body) {
		t.Helper()
		runs++
		body["tool"], body["command"] = "bash", "exit 1"
		s.Await(s.Submit(body).ID)
	}
	// Secret engines. Those of clouds have no address that a user could choose.
	var vaults []string
	for _, engine := range []string{"vault", "vault_dynamic"} {
		for i, login := range []harness.Body{{"token": own}, {"role_id": own, "secret_id": own}} {
			config := harness.Body{"address": k.URL + "/" + engine, "path": "secret/app", "field": "password"}
			for name, value := range login {
				config[name] = value
			}
			id := idOf(create(t, s.Client, "/v1/credentials", harness.Body{"name": fmt.Sprint(engine, i), "kind": "token",
				"source": harness.Body{"engine": engine, "config": config}}))
			vaults = append(vaults, id)
			run(harness.Body{"credential_ids": []string{id}})
		}
	}
	for engine, config := range map[string]harness.Body{
		"aws_secretsmanager": {"secret_id": "x", "region": "x." + host + "/"}, "aws_secretsmanager ": {"secret_id": "x",
			"endpoint": k.URL},
		"aws_secretsmanager  ": {"secret_id": "x", "endpoint_url": k.URL, "region": "eu-central-1"},
		"gcp_secretmanager":    {"project": "x@" + host, "secret": "x"}, "gcp_secretmanager ": {"project": "x",
			"secret": "../../" + host},
		"gcp_secretmanager  ": {"project": "x", "secret": "x", "endpoint": k.URL},
		"azure_keyvault":      {"vault": k.URL, "secret": "x", "tenant_id": "x", "client_id": "x", "client_secret": "x"},
		"azure_keyvault ": {"vault": "x", "secret": "x", "tenant_id": host + "/x", "client_id": "x",
			"client_secret": "x"},
		"azure_keyvault  ": {"vault": "x", "secret": "x"},
	} {
		a := s.Do(http.MethodPost, "/v1/credentials", harness.Body{"name": "cloud", "kind": "token",
			"source": harness.Body{"engine": strings.TrimSpace(engine), "config": config}})
		if a.Status != http.StatusBadRequest {
			t.Errorf("%s with %v: %d %s", engine, config, a.Status, a.Body)
		}
	}
	// Inventories and projects.
	inventory := idOf(create(t, s.Client, "/v1/inventories", harness.Body{"name": "i", "content": "a\n", "format": "ini"}))
	source := idOf(create(t, s.Client, "/v1/inventory-sources", harness.Body{"name": "s", "kind": "http",
		"inventory_id": inventory,
		"config":       harness.Body{"url": k.URL + "/inventory", "headers": harness.Body{"X-Own": own}}}))
	if a := s.Do(http.MethodPost, "/v1/inventory-sources/"+source+"/refresh", nil); a.Status != http.StatusOK {
		t.Errorf("refresh: %d %s", a.Status, a.Body)
	}
	project := idOf(create(t, s.Client, "/v1/projects", harness.Body{"name": "p", "repo_url": "https://" + host +
		"/x.git"}))
	if a := s.Do(http.MethodPost, "/v1/projects/"+project+"/sync", nil); a.Status < 400 {
		t.Errorf("a project at a server that is none of git: %d %s", a.Status, a.Body)
	}
	// Notifications.
	kinds := []string{"webhook", "slack", "mattermost", "rocketchat", "discord", "teams", "ntfy", "grafana"}
	for _, kind := range kinds {
		target := harness.Body{"kind": kind, "url": k.URL + "/" + kind, "on_failure": true}
		if kind == "grafana" || kind == "webhook" {
			target["key"] = own
		}
		run(harness.Body{"notifications": []harness.Body{target}})
	}
	harness.Eventually(t, wait, "every address is called", func() bool {
		_, hits := k.seen()
		return !slices.ContainsFunc(append(kinds, "inventory", "vault", "vault_dynamic"), func(part string) bool {
			return !slices.ContainsFunc(hits, func(path string) bool { return strings.Contains(path, "/"+part) })
		})
	})
	text, hits := k.seen()
	if strings.Contains(text, mark) {
		t.Errorf("an identity of the machine arrived: %s", text)
	}
	if !strings.Contains(text, own) {
		t.Errorf("no identity of a credential arrived: %s", text)
	}
	for _, header := range []string{"Cookie", "Authorization:[Basic", s.Token, harness.WorkerToken} {
		if strings.Contains(text, header) {
			t.Errorf("%q arrived: %s", header, text)
		}
	}
	// A stored secret is for its address alone.
	for _, id := range vaults {
		var kept map[string]any
		s.Do(http.MethodGet, "/v1/credentials/"+id, nil).JSON(t, &kept)
		from, _ := kept["source"].(map[string]any)
		config, _ := from["config"].(map[string]any)
		config["address"] = changed.URL
		if a := s.Do(http.MethodPut, "/v1/credentials/"+id, kept); a.Status != http.StatusBadRequest {
			t.Errorf("another address with the stored secret: %d %s", a.Status, a.Body)
		}
		run(harness.Body{"credential_ids": []string{id}})
	}
	if a := s.Do(http.MethodPut, "/v1/inventory-sources/"+source, harness.Body{"name": "s", "kind": "http",
		"inventory_id": inventory,
		"config":       harness.Body{"url": changed.URL, "headers": harness.Body{"X-Own": ""}}}); a.Status == http.StatusOK {
		s.Do(http.MethodPost, "/v1/inventory-sources/"+source+"/refresh", nil)
	}
	if text, _ := changed.seen(); strings.Contains(text, own) || strings.Contains(text, mark) {
		t.Errorf("a stored secret went to another address: %s", text)
	}
	t.Logf("%d runs, %d requests", runs, len(hits))
}
