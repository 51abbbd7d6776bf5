package goplugin

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/plugin"
	"github.com/writ-automation/writ/ports/extension/plugin/wire"
)

// TestMain is the main function of every plugin of these tests too: they are links to this binary, and behave as their
// name says.
func TestMain(m *testing.M) {
	if os.Getenv(wire.ModeVar) != "" {
		behave(filepath.Base(os.Args[0]), filepath.Dir(os.Args[0]))
		return
	}
	goleak.VerifyTestMain(m)
}

// behave is the life of a plugin. Its directory has its files, which begin with a dot.
func behave(name, dir string) {
	_ = appendTo(filepath.Join(dir, ".started-"+name), strconv.Itoa(os.Getpid())) // not in a box
	switch name {
	case "good":
		plugin.Serve(good(dir))
	case "second", "double":
		plugin.Serve(plugin.Extension{Notifiers: one("diary", diary(dir))})
	case "shadow":
		plugin.Serve(plugin.Extension{Tools: map[string]extension.ToolRunner{"bash": nothing()}})
	case "pager":
		plugin.Serve(plugin.Extension{Notifiers: one("slack", diary(dir))})
	case "keeper":
		plugin.Serve(plugin.Extension{SecretResolvers: map[string]extension.SecretResolver{"vault": box{dir}}})
	case "teller": // good has a minter of that name
		plugin.Serve(plugin.Extension{SecretResolvers: map[string]extension.SecretResolver{"coins": box{dir}}})
	case "oracle":
		plugin.Serve(plugin.Extension{AIProviders: map[string]extension.AIProviderFactory{"ollama": newParrot(dir)}})
	case "mimic":
		plugin.Serve(plugin.Extension{AIProviders: map[string]extension.AIProviderFactory{"parrot": newParrot(dir)}})
	case "hostile":
		plugin.Serve(hostile(dir))
	case "mayfly":
		plugin.Serve(plugin.Extension{SecretResolvers: map[string]extension.SecretResolver{"mayfly": mayfly{}}})
	case "empty":
		plugin.Serve(plugin.Extension{})
	case "panics":
		plugin.Serve(plugin.Extension{Notifiers: one("a name", diary(dir))})
	case "ends":
		os.Exit(3)
	case "sleeps":
		forever()
	case "babbles":
		babble()
	case "changes":
		serveRaw(changes{dir: dir})
	case "lender":
		serveRaw(lender{})
	case "forks":
		forks(dir)
		plugin.Serve(plugin.Extension{Notifiers: one("forks", diary(dir))})
	case "leaky":
		plugin.Serve(leaky())
	case "early":
		fmt.Println("the token is " + os.Getenv("TOKEN"))
		forever()
	case "elsewhere":
		fmt.Println("1|1|tcp|127.0.0.1:1|grpc")
		forever()
	case "docker":
		fmt.Println("1|1|unix|/run/docker.sock|grpc")
		forever()
	case "old":
		fmt.Println("1|99|unix|./x|grpc")
		forever()
	case "open":
		if _, err := net.Listen("unix", "x"); err != nil {
			panic(err)
		}
		fmt.Println("1|1|unix|./x|grpc|")
		forever()
	case "nowhere":
		offer("x")
	case "linked":
		if err := os.Symlink(filepath.Join(dir, ".service"), "x"); err != nil {
			panic(err)
		}
		offer("x")
	}
}

// forever waits for a signal that nobody sends.
func forever() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	<-c
}

// offer prints the address of a socket with a certificate.
func offer(name string) {
	block, _ := pem.Decode([]byte(os.Getenv("PLUGIN_CLIENT_CERT")))
	fmt.Println("1|1|unix|./" + name + "|grpc|" + base64.RawStdEncoding.EncodeToString(block.Bytes))
	forever()
}

// forks starts a process that belongs to no group of the plugin.
func forks(dir string) {
	child := exec.Command("sleep", "1000")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		panic(err)
	}
	if err := appendTo(filepath.Join(dir, ".forked"), strconv.Itoa(child.Process.Pid)); err != nil {
		panic(err)
	}
}

// babble fills both outputs.
func babble() {
	line := strings.Repeat("x", 1<<16)
	for {
		fmt.Fprint(os.Stderr, line)
		if _, err := fmt.Print(line); err != nil {
			return
		}
	}
}

func one(name string, n extension.NotifierFunc) map[string]extension.Notifier {
	return map[string]extension.Notifier{name: n}
}

func nothing() extension.ToolRunner {
	return extension.ToolRunnerFunc(func(context.Context, extension.ToolSpec, io.Writer) (extension.ToolResult, error) {
		return extension.ToolResult{}, nil
	})
}

func appendTo(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// diary notes runs in a file, fails while the file .broken exists, and hangs while .hanging does.
func diary(dir string) extension.NotifierFunc {
	return func(ctx context.Context, run extension.EndedRun) error {
		switch {
		case exists(filepath.Join(dir, ".hanging")):
			<-ctx.Done()
			return ctx.Err()
		case exists(filepath.Join(dir, ".broken")):
			return errors.New("the diary is closed")
		}
		return appendTo(filepath.Join(dir, ".diary"), run.ID)
	}
}

// good provides some of everything.
func good(dir string) plugin.Extension {
	return plugin.Extension{
		Tools:           map[string]extension.ToolRunner{"greet": nothing()},
		Notifiers:       one("diary", diary(dir)),
		AIProviders:     map[string]extension.AIProviderFactory{"parrot": newParrot(dir)},
		SecretResolvers: map[string]extension.SecretResolver{"box": box{dir}},
		SecretMinters: map[string]extension.SecretMinter{
			"coins": mint{dir}, "drops": plain{mint{dir}},
		},
	}
}

// box is a secret engine: the secret that a config names is a file.
type box struct{ dir string }

func (box) ConfigFields() []extension.ConfigField {
	return []extension.ConfigField{{Name: "name", Required: true}, {Name: "pin", Secret: true}}
}

func (b box) ValidateConfig(config map[string]any) error {
	name, ok := config["name"].(string)
	if !ok || name == "" || strings.ContainsAny(name, "/.") {
		return &extension.ConfigError{Field: "name", Message: "is no name"}
	}
	if pin, is := config["pin"]; is {
		if _, ok := pin.(string); !ok {
			return &extension.ConfigError{Field: "pin", Message: "is no text"}
		}
	}
	return nil
}

func (b box) Resolve(ctx context.Context, config map[string]any) (string, error) {
	if err := b.ValidateConfig(config); err != nil {
		return "", err
	}
	if config["name"] == "hang" {
		<-ctx.Done()
		return "", ctx.Err()
	}
	text, err := os.ReadFile(filepath.Join(b.dir, ".box-"+config["name"].(string)))
	if err != nil {
		return "", errors.New("the box has nothing of that name")
	}
	return string(text), nil
}

// mayfly dies when it is described.
type mayfly struct{ box }

func (mayfly) ConfigFields() []extension.ConfigField {
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	forever()
	return nil
}

// mint is a dynamic engine: a secret is valid as long as its file exists.
type mint struct{ dir string }

var coins atomic.Int64

func (m mint) Mint(ctx context.Context, config map[string]any) (string, *extension.SecretLease, error) {
	account, ok := config["account"].(string)
	if !ok || account == "none" || account == "" {
		return "", nil, errors.New("there is no such account")
	}
	if account == "hang" {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return "", nil, ctx.Err()
	}
	handle := fmt.Sprintf("%d-%d", os.Getpid(), coins.Add(1))
	if err := os.WriteFile(m.coin(handle), nil, 0o600); err != nil {
		return "", nil, err
	}
	lease := extension.NewSecretLease("inner", func(ctx context.Context) error { return m.RevokeLease(ctx, nil, handle) })
	return handle, lease.WithHandle(handle).WithRenewal(time.Minute, func(context.Context) (time.Duration, error) {
		return time.Hour, nil
	}), nil
}

func (m mint) RevokeLease(ctx context.Context, _ map[string]any, handle string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := os.Remove(m.coin(handle)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return errors.New("the coin stays")
	}
	return nil
}

func (m mint) coin(handle string) string { return filepath.Join(m.dir, ".coin-"+filepath.Base(handle)) }

// plain is a minter whose secrets only the process that minted them revokes.
type plain struct{ mint }

func (p plain) RevokeLease() {} // hides the method of mint

func (p plain) Mint(ctx context.Context, config map[string]any) (string, *extension.SecretLease, error) {
	value, lease, err := p.mint.Mint(ctx, config)
	return value, lease, err
}

// hostile does what its notifiers are called.
func hostile(dir string) plugin.Extension {
	huge := strings.Repeat("x", 3<<20)
	return plugin.Extension{
		Notifiers: map[string]extension.Notifier{
			"fine": diary(dir),
			"hang": extension.NotifierFunc(func(context.Context, extension.EndedRun) error { forever(); return nil }),
			"die": extension.NotifierFunc(func(context.Context, extension.EndedRun) error {
				return syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}),
			"panic": extension.NotifierFunc(func(context.Context, extension.EndedRun) error { panic("at the disco") }),
			"freeze": extension.NotifierFunc(func(context.Context, extension.EndedRun) error {
				defer forever()
				return syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			}),
			"flood": extension.NotifierFunc(func(context.Context, extension.EndedRun) error {
				for range 2000 {
					fmt.Fprintln(os.Stderr, "flood")
					fmt.Println("flood")
				}
				return errors.New(huge)
			}),
		},
		AIProviders: map[string]extension.AIProviderFactory{"babel": newBabel},
		SecretResolvers: map[string]extension.SecretResolver{
			"huge": extension.SecretResolverFunc(func(context.Context, map[string]any) (string, error) { return huge, nil }),
			"leak": extension.SecretResolverFunc(func(_ context.Context, config map[string]any) (string, error) {
				fmt.Fprintln(os.Stderr, config["pin"])
				fmt.Println(config["pin"])
				return fmt.Sprintf("%v\n%v", os.Environ(), config["pin"]), nil
			}),
		},
	}
}
