package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

const (
	// maxName bounds each part of a credential's file name, in bytes.
	maxName = 200
	// maxNested bounds the nesting of credential variables.
	maxNested = 100
	// ownPrefix is the prefix of environment variables that only Writ sets.
	ownPrefix = "WRIT_"
)

// Secrets holds the values of credentials for a run, after their files are written.
type Secrets struct {
	Env  map[string]string
	Vars runs.Vars // override the run's own, and are always data
	// Login names files for a playbook. It has no public key: the code that starts the agent sets it.
	Login execution.Login
}

// Inject writes the files of an injection, merges the variables of the run with those of its credentials, and replaces
// the marks of files with their paths. A name or value that cannot be used is an Invalid fault that names the variable
// or the file and shows no value.
func (d Dir) Inject(own runs.Vars, in secrets.Injection) (Secrets, error) {
	if err := d.note(state{Secret: true}); err != nil { // first, so that a restarted process finds the mark
		return Secrets{}, err
	}
	marks, err := d.writeFiles(in.Files)
	if err != nil {
		return Secrets{}, err
	}
	out := Secrets{Env: make(map[string]string, len(in.Env)), Vars: make(runs.Vars, len(in.ExtraVars))}
	for name, v := range in.Env {
		if err := checkEnv(name); err != nil {
			return Secrets{}, err
		}
		value := marks.Replace(v.Reveal())
		if strings.ContainsRune(value, 0) || len(value) > maxVar {
			return Secrets{}, refuse("the environment variable %s of a credential is longer than %d bytes or holds a NUL", name,
				maxVar)
		}
		out.Env[name] = value
	}
	for name, v := range in.ExtraVars {
		plain, ok := place(v, marks, 0)
		if !ok {
			return Secrets{}, refuse("the variable %s of a credential is no plain value", name)
		}
		if out.Vars[name], err = json.Marshal(plain); err != nil {
			return Secrets{}, refuse("the variable %s of a credential is no plain value", name)
		}
	}
	if len(out.Vars) > 0 {
		if err := d.writeVars(own.Merge(out.Vars)); err != nil {
			return Secrets{}, fmt.Errorf("write the variables of a run: %w", err)
		}
	}
	out.Login, err = d.writeLogin(in.Login)
	return out, err
}

func refuse(format string, args ...any) error {
	return &fault.Error{Kind: fault.Invalid, Message: fmt.Sprintf(format, args...)}
}

func checkEnv(name string) error {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return refuse("a credential sets an environment variable whose name none can have")
	}
	if strings.HasPrefix(name, ownPrefix) && !strings.HasPrefix(name, secrets.FileVariable) {
		return refuse("a credential may not set the environment variable %s: those with %s are Writ's own", name, ownPrefix)
	}
	return nil
}

// writeFiles writes the files of credentials and returns a replacer of marks with their paths, and the marks of
// directories.
func (d Dir) writeFiles(files []secrets.File) (*strings.Replacer, error) {
	var pairs []string
	root := d.file(secretsDir)
	if len(files) > 0 {
		if err := d.makeOwn(root); err != nil {
			return nil, fmt.Errorf("make the folder of a run's secrets: %w", err)
		}
	}
	made := map[string]bool{}
	for _, f := range files {
		folder, _, nested := strings.Cut(f.Name, "/")
		if !fileName(f.Name) {
			return nil, refuse("a credential names a file %q, which none can have", f.Name)
		}
		if nested && !made[folder] {
			if err := d.makeOwn(filepath.Join(root, folder)); err != nil {
				return nil, clash(f.Name, err)
			}
			made[folder] = true
			pairs = append(pairs, secret.FileMark(folder+"/"), filepath.Join(root, folder))
		}
		path := filepath.Join(root, f.Name)
		if err := d.createFile(path, f.Content); err != nil {
			return nil, clash(f.Name, err)
		}
		pairs = append(pairs, secret.FileMark(f.Name), path)
	}
	return strings.NewReplacer(pairs...), nil
}

func clash(name string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return refuse("two credentials name the file %s", name)
	}
	return fmt.Errorf("write a file of a credential: %w", err)
}

// fileName reports whether a name is a plain one, or two with a slash between.
func fileName(name string) bool {
	parts := strings.Split(name, "/")
	return len(parts) <= 2 && !slices.ContainsFunc(parts, func(p string) bool {
		return p == "" || p == "." || p == ".." || len(p) > maxName || strings.ContainsRune(p, 0)
	})
}

func (d Dir) createFile(path string, content secret.Text) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content.Reveal())
	return errors.Join(err, f.Close(), d.give(path))
}

// place replaces marks with paths in every string of a value. It returns false for a value that no variable can have.
func place(v any, marks *strings.Replacer, depth int) (any, bool) {
	if depth > maxNested {
		return nil, false
	}
	switch v := v.(type) {
	case nil, bool, json.Number, int, int64, float64:
		return v, true
	case string:
		return marks.Replace(v), true
	case secret.Text:
		return marks.Replace(v.Reveal()), true
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var ok bool
			if out[i], ok = place(v[i], marks, depth+1); !ok {
				return nil, false
			}
		}
		return out, true
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			var ok bool
			if out[k], ok = place(v[k], marks, depth+1); !ok {
				return nil, false
			}
		}
		return out, true
	default:
		return nil, false
	}
}

// writeLogin writes a file for each password.
func (d Dir) writeLogin(l secrets.Login) (execution.Login, error) {
	out := execution.Login{User: l.User, BecomeMethod: l.BecomeMethod, BecomeUser: l.BecomeUser}
	if l.Password == "" && l.BecomePassword == "" && len(l.Vaults) == 0 {
		return out, nil
	}
	err := d.makeOpen(d.file(loginDir), 0o755)
	put := func(name string, password secret.Text) string {
		path := filepath.Join(d.file(loginDir), name)
		if err == nil {
			err = d.createFile(path, password)
		}
		return path
	}
	if l.Password != "" {
		out.PasswordFile = put("connection", l.Password)
	}
	if l.BecomePassword != "" {
		out.BecomePasswordFile = put("become", l.BecomePassword)
	}
	for i, v := range l.Vaults {
		out.Vaults = append(out.Vaults, execution.VaultFile{ID: v.ID, Path: put(fmt.Sprintf("vault-%d", i), v.Password)})
	}
	if err != nil {
		return execution.Login{}, fmt.Errorf("write the passwords of a run: %w", err)
	}
	return out, nil
}

// LoginEnv returns the variables with the paths of a script's password files. Of several vault passwords it contains
// the default one, else the first.
func LoginEnv(l execution.Login) map[string]string {
	out := map[string]string{}
	if l.PasswordFile != "" {
		out["WRIT_SSH_PASSWORD_FILE"] = l.PasswordFile
	}
	if l.BecomePasswordFile != "" {
		out["WRIT_BECOME_PASSWORD_FILE"] = l.BecomePasswordFile
	}
	if len(l.Vaults) > 0 {
		at := max(0, slices.IndexFunc(l.Vaults, func(v execution.VaultFile) bool { return v.ID == "default" }))
		out["WRIT_VAULT_PASSWORD_FILE"] = l.Vaults[at].Path
	}
	return out
}

// Agent makes the private directory for the run's ssh agent and returns its path.
func (d Dir) Agent() (string, error) {
	dir := d.file(agentDir)
	if err := d.makeOpen(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the folder of a run's agent: %w", err)
	}
	return dir, nil
}

// MaskOf lists the texts of an injection that must not be shown: its own list, and every password and key.
func MaskOf(in secrets.Injection) []string {
	var out []string
	add := func(t secret.Text) {
		if t != "" {
			out = append(out, t.Reveal())
		}
	}
	for _, t := range in.Hide {
		add(t)
	}
	add(in.Login.Password)
	add(in.Login.BecomePassword)
	for _, v := range in.Login.Vaults {
		add(v.Password)
	}
	for _, k := range in.Keys {
		add(k.PrivateKey)
	}
	return out
}
