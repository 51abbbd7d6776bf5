// Package registry tests credentials for image registries with a third-party tool: crane, against the registry of the
// same project with a password. It is a separate module, so that neither is a dependency of the product: run it with
// "go test ./..." in this folder.
package registry

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/cmd/crane/cmd"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/logs"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/writ-automation/writ/e2e/harness"
)

// asCrane names the environment variable that makes this test binary run as crane, which is compiled into it.
const asCrane = "WRIT_TEST_CRANE"

// self is this test binary, and crane the command with which a script calls the tool in it.
var self, crane string

// TestMain runs crane if the environment variable is set. Otherwise it runs the tests at the root of the repository.
func TestMain(m *testing.M) {
	if os.Getenv(asCrane) != "" {
		logs.Warn.SetOutput(os.Stderr)
		logs.Progress.SetOutput(os.Stderr)
		if err := cmd.Root.Execute(); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if self, err = os.Executable(); err == nil {
		err = os.Chdir(filepath.Join("..", ".."))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	crane = asCrane + "=1 '" + self + "'"
	return harness.Main(m)
}

const (
	account  = "robot$ci"
	password = `pa"ss\wörd%2F+`
)

// guarded starts a registry with one image that only one account may read.
func guarded(t *testing.T) (host, digest string) {
	t.Helper()
	inner := registry.New()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, word, ok := r.BasicAuth(); !ok || user != account || word != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"who is this"}]}`, http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	host = strings.TrimPrefix(s.URL, "http://")
	ref, err := name.ParseReference(host + "/team/app:v1")
	if err != nil {
		t.Fatal(err)
	}
	image, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, image, remote.WithAuth(&authn.Basic{Username: account, Password: password})); err != nil {
		t.Fatal(err)
	}
	hash, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return host, hash.String()
}

// TestRegistryLogin checks that a run with the credential reads from the registry, that a run without it cannot, and
// that the password is never shown.
func TestRegistryLogin(t *testing.T) {
	host, digest := guarded(t)
	s := harness.Start(t, harness.Options{Flags: []string{"--isolation-show", filepath.Dir(self)}})
	var made struct {
		ID string `json:"id"`
	}
	s.Do(http.MethodPost, "/v1/credentials", harness.Body{
		"name": "images", "kind": "registry", "secret": harness.Body{"password": password},
		"settings": harness.Body{"username": account, "server": host},
	}).JSON(t, &made)
	ask := harness.Body{"tool": "bash", "command": crane + " digest " + host + "/team/app:v1"}
	without := s.Await(s.Submit(ask).ID)
	if log := s.Log(without.ID); without.Status != "failed" || !strings.Contains(log, "UNAUTHORIZED") {
		t.Errorf("without a credential the run %s: %s", without.Status, log)
	}
	ask["command"] = ask["command"].(string) + `; cat "$REGISTRY_AUTH_FILE"; echo "$REGISTRY_PASSWORD"`
	ask["credential_ids"] = []string{made.ID}
	with := s.Await(s.Submit(ask).ID)
	log := s.Log(with.ID)
	if with.Status != "succeeded" || !strings.Contains(log, digest) {
		t.Errorf("with the credential the run %s: %s", with.Status, log)
	}
	for _, secret := range []string{password, base64.StdEncoding.EncodeToString([]byte(account + ":" + password))} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %q: %s", secret, log)
		}
	}
}
