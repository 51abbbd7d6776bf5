// Command plugged is a plugin. What its notifier hears and its secret engines give is at an address on this machine,
// whose port the name of the executable ends with.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/plugin"
)

func main() {
	plugin.Serve(plugin.Extension{
		Tools: map[string]extension.ToolRunner{
			"speak": extension.ToolRunnerFunc(speak), "stay": extension.ToolRunnerFunc(stay),
			"shape": extension.ToolRunnerFunc(shape),
		},
		AIProviders:     map[string]extension.AIProviderFactory{"muse": newMuse},
		Notifiers:       map[string]extension.Notifier{"journal": extension.NotifierFunc(note)},
		SecretResolvers: map[string]extension.SecretResolver{"static": extension.SecretResolverFunc(resolve)},
		SecretMinters:   map[string]extension.SecretMinter{"dynamic": dynamic{}},
	})
}

// ask sends a request to the test and returns the answer.
func ask(ctx context.Context, method, path string, body []byte) (string, error) {
	name := filepath.Base(os.Args[0])
	port := name[strings.LastIndex(name, "-")+1:]
	r, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1:"+port+path, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", errors.New("the test does not answer")
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New("the test refuses")
	}
	return string(text), err
}

func note(ctx context.Context, run extension.EndedRun) error {
	body, err := json.Marshal(run)
	if err == nil {
		_, err = ask(ctx, http.MethodPost, "/journal", body)
	}
	return err
}

func resolve(ctx context.Context, config map[string]any) (string, error) {
	return ask(ctx, http.MethodGet, "/static?name="+url.QueryEscape(fmt.Sprint(config["name"])), nil)
}

// dynamic makes secrets that are revoked by their handle.
type dynamic struct{}

func (d dynamic) Mint(ctx context.Context, config map[string]any) (string, *extension.SecretLease, error) {
	handle, err := ask(ctx, http.MethodPost, "/dynamic", nil)
	if err != nil {
		return "", nil, err
	}
	return "minted-" + handle, extension.NewSecretLease("dynamic", func(ctx context.Context) error {
		return d.RevokeLease(ctx, config, handle)
	}).WithHandle(handle), nil
}

func (dynamic) RevokeLease(ctx context.Context, _ map[string]any, handle string) error {
	_, err := ask(ctx, http.MethodDelete, "/dynamic?handle="+url.QueryEscape(handle), nil)
	return err
}

// newMuse returns an AI provider that answers with what it was built with, and the end of the prompt.
func newMuse(s extension.AISettings) (extension.AIProvider, error) {
	if s.Key == "" {
		return nil, errors.New("key: is required")
	}
	return extension.AIProviderFunc(func(_ context.Context, r extension.AIRequest) (extension.AIAnswer, error) {
		return extension.AIAnswer{Text: s.Model + " at " + s.URL + ": " + r.Prompt}, nil
	}), nil
}

// speak prints the names of its environment, a secret, and what its input says.
func speak(_ context.Context, spec extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
	var names []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	dry, set := spec.Env["WRIT_DRY_RUN"]
	_, err := fmt.Fprintf(out, "names %s\nsecret %s of %d bytes\ncommand %s\nvariable %v\ndry %t, its variable %t %q\n",
		strings.Join(names, " "), spec.Env["PASS"], len(spec.Env["PASS"]), spec.Command, spec.ExtraVars["note"], spec.DryRun,
		set, dry)
	return extension.ToolResult{ExitCode: len(spec.Command) % 2}, err
}

// stay starts a program that nothing but the end of the run ends, and waits for a cancel.
func stay(ctx context.Context, spec extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
	c := exec.Command("setsid", "sleep", "3600")
	c.Env = os.Environ()
	if err := c.Start(); err != nil {
		return extension.ToolResult{}, err
	}
	if _, err := fmt.Fprintln(out, "stays"); err != nil {
		return extension.ToolResult{}, err
	}
	if spec.Command == "die" {
		os.Exit(9)
	}
	<-ctx.Done()
	_, err := fmt.Fprintln(out, "canceled")
	return extension.ToolResult{ExitCode: 5}, err
}

// shape plans its command, and applies the plan that it was approved for.
func shape(_ context.Context, spec extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(spec.Command)))
	if spec.DryRun {
		return extension.ToolResult{Plan: &extension.Plan{Summary: "1 to create", Digest: digest,
			Findings: []extension.PlanFinding{
				{Resource: "shape." + spec.Command, Action: "create", Diff: "+ " + spec.Env["PASS"]},
			},
		}}, nil
	}
	if spec.PlanDigest != digest {
		return extension.ToolResult{ExitCode: 3}, nil
	}
	_, err := fmt.Fprintln(out, "applied", digest)
	return extension.ToolResult{}, err
}
