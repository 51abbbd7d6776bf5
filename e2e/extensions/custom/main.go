// Command custom is a custom binary with compiled-in extensions: a notifier that writes a diary, one that never
// succeeds, a secret engine of each kind, an AI provider, a tool, and a subscriber of domain events.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/writ-automation/writ/cmd/cli"
	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/docs"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/runs"
)

// vendorKey is the public key of licence files, set by the linker.
var vendorKey string //nolint:gochecknoglobals // the linker sets nothing else

func main() {
	extension.RegisterNotifier("diary", extension.NotifierFunc(note))
	extension.RegisterNotifier("nobody", extension.NotifierFunc(func(context.Context, extension.EndedRun) error {
		return errors.New("nobody is at home")
	}))
	extension.RegisterSecretResolver("box", extension.SecretResolverFunc(unbox))
	extension.RegisterSecretMinter("mint", mint{})
	extension.RegisterAIProvider("parrot", parrot)
	extension.RegisterTool("greet", extension.ToolRunnerFunc(greet))
	if os.Getenv(many) != "" {
		os.Exit(repeat(os.Stdin, os.Stdout))
	}
	os.Exit(cli.Execute(docs.Pages, compose.VendorKey(vendorKey), compose.Subscribe(events.On("brittle", brittle))))
}

// parrot makes a provider that repeats its settings and its prompt.
func parrot(s extension.AISettings) (extension.AIProvider, error) {
	if s.Key == "" {
		return nil, errors.New("key: is required")
	}
	return extension.AIProviderFunc(func(_ context.Context, r extension.AIRequest) (extension.AIAnswer, error) {
		return extension.AIAnswer{Text: s.Model + " at " + s.URL + ": " + r.Prompt}, nil
	}), nil
}

// brittle is a subscriber that fails while the file "fail" exists. It appends the id of each run that it receives to
// the file "tried", and of each that it handles to the file "handled".
func brittle(_ context.Context, _ string, e runs.Finished) error {
	dir := os.Getenv("BRITTLE")
	if dir == "" {
		return nil
	}
	if err := appendLine(filepath.Join(dir, "tried"), e.RunID); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "fail")); err == nil {
		return errors.New("the other side is closed")
	}
	return appendLine(filepath.Join(dir, "handled"), e.RunID)
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// note appends a line to the diary.
func note(_ context.Context, run extension.EndedRun) error {
	f, err := os.OpenFile(os.Getenv("DIARY"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(run), f.Close())
}

// unbox reads a file of the box.
func unbox(_ context.Context, config map[string]any) (string, error) {
	name, _ := config["name"].(string)
	b, err := os.ReadFile(filepath.Join(os.Getenv("BOX"), filepath.Base(name)))
	if err != nil {
		return "", fmt.Errorf("the box has no %s", name)
	}
	return string(b), nil
}

// mint makes a file for each secret, which exists as long as the secret is valid.
type mint struct{}

func (mint) Mint(_ context.Context, config map[string]any) (string, *extension.SecretLease, error) {
	handle := "coin-" + strconv.FormatInt(time.Now().UnixNano(), 36) //nolint:forbidigo // a name that no other coin has
	path := coin(handle)
	if err := os.WriteFile(path, []byte(fmt.Sprint(config["account"])), 0o600); err != nil {
		return "", nil, err
	}
	return "minted-" + handle, extension.NewSecretLease("mint", func(context.Context) error {
		return os.Remove(path)
	}).WithHandle(handle), nil
}

func (mint) RevokeLease(_ context.Context, _ map[string]any, handle string) error {
	if err := os.Remove(coin(handle)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func coin(handle string) string { return filepath.Join(os.Getenv("MINT"), filepath.Base(handle)) }

// greet prints a greeting with the values of its credentials.
func greet(_ context.Context, spec extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
	_, err := fmt.Fprintf(out, "hello %s, %d bytes of secret: %s\n", spec.Command, len(spec.Env["PASS"]), spec.Env["PASS"])
	return extension.ToolResult{}, err
}
