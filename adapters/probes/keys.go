package probes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/writ-automation/writ/ports/system"
)

// KeyFile is a file with a key, and the use of the key, such as "signing key".
type KeyFile struct{ Path, Use string }

// Keys checks that key files exist and that only this user can access them. It does not read them.
type Keys struct {
	files []KeyFile
	user  int
}

var _ system.Check = (*Keys)(nil)

// NewKeys returns the check for the files. It returns an error for a file without a path or a use.
func NewKeys(files []KeyFile) (*Keys, error) {
	for _, f := range files {
		if f.Path == "" || f.Use == "" {
			return nil, errors.New("probes: the file of a key lacks a path or a use")
		}
	}
	return &Keys{files: files, user: os.Geteuid()}, nil
}

func (*Keys) Name() string { return "keys" }

func (k *Keys) Examine(context.Context) (system.Examination, error) {
	var out system.Examination
	for _, f := range k.files {
		out.Examined++
		if problem, fix, critical := k.problemOf(f); problem != "" {
			found := system.Finding{
				Severity: system.Warning, Object: system.Subject{Kind: "file", ID: f.Path, Name: f.Use}, Problem: problem, Fix: fix,
			}
			if critical {
				found.Severity = system.Error
			}
			out.Findings = append(out.Findings, found)
		}
	}
	return out, nil
}

// problemOf returns the problem of a file, empty for none. It follows links, as the reader of the key does.
func (k *Keys) problemOf(f KeyFile) (problem, fix string, critical bool) {
	info, err := os.Stat(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("the file %s of the %s is missing", f.Path, f.Use),
			"bring the file back from a backup before the server is started again", true
	}
	if err != nil {
		return fmt.Sprintf("the file %s of the %s cannot be looked at", f.Path, f.Use),
			"let this server's user pass the directories above it", true
	}
	if !info.Mode().IsRegular() {
		return fmt.Sprintf("what %s is for the %s is no regular file", f.Path, f.Use),
			"put a file with the key in its place", true
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Sprintf("others may get at the file %s of the %s: its mode is %04o", f.Path, f.Use, mode),
			"take the rights away with chmod 600, and think about a new key", true
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != k.user && st.Uid != 0 {
		return fmt.Sprintf("the file %s of the %s belongs to the user %d, who is not the one that this server runs as",
				f.Path, f.Use, st.Uid),
			fmt.Sprintf("give it to the user %d with chown", k.user), false
	}
	return "", "", false
}
