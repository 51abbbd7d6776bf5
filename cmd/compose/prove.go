package compose

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.uber.org/fx"

	auditmodule "github.com/writ-automation/writ/modules/audit"
	"github.com/writ-automation/writ/modules/identity"
	policymodule "github.com/writ-automation/writ/modules/policy"
	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/ports/extension"
	portidentity "github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/system"
)

// oneLine is an error whose lines are put on one, each once: a driver reports every address that it tried on its own.
type oneLine struct{ error }

func (e oneLine) Unwrap() error { return e.error }

func (e oneLine) Error() string {
	var lines []string
	for line := range strings.Lines(e.error.Error()) {
		if line = strings.TrimSpace(line); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}

// proveFiles reads every file that an operator names, before anything is written. It joins all errors, each of which
// names its flag.
func (s *Settings) proveFiles(root string) error {
	if err := proveDir(root); err != nil {
		return err
	}
	var errs []error
	if source := s.policySource(); source.Read != nil {
		errs = append(errs, policymodule.CheckSource(source))
	}
	if pem, err := s.signingKeys(root).Load(); err != nil {
		errs = append(errs, err)
	} else if err := auditmodule.CheckKeys(pem); err != nil {
		errs = append(errs, fmt.Errorf("signing-key-file: %s: %w", s.signingKeys(root), err))
	}
	if err := s.keySource(root).Check(); err != nil {
		errs = append(errs, fmt.Errorf("encryption-key-file: %w", err))
	}
	return errors.Join(append(errs, s.checkSAML(), s.proveDatabase(), s.readAdminPassword())...)
}

// proveDir refuses a path that is or passes something else than a directory.
func proveDir(root string) error {
	path := root
	for !present(path) {
		path = filepath.Dir(path)
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return fmt.Errorf("data-dir: %s is not a directory; name a directory that this user can write", path)
	}
	return nil
}

// readAdminPassword reads the password of the first account, a text in a file that only its owner may read.
func (s *Settings) readAdminPassword() error {
	if s.AdminPasswordFile == "" {
		return nil
	}
	raw, err := readKey(s.AdminPasswordFile)
	if err != nil {
		return fmt.Errorf("admin-password-file: %w", err)
	}
	s.adminPassword = portidentity.Password(strings.TrimRight(string(raw), "\r\n"))
	if err := identity.CheckPassword(s.adminPassword); err != nil {
		return fmt.Errorf("admin-password-file: %s: %w", s.AdminPasswordFile, err)
	}
	return nil
}

// proveParts assembles what may fail on this machine and needs no database, which the parts after it make.
func proveParts() fx.Option {
	return fx.Module("proof", fx.Invoke(fx.Annotate(
		func(*boundary.Boundary, system.Licenses, map[string]extension.Engine, []notify.Channel) {},
		fx.ParamTags("", "", "", `group:"notify.channels"`))))
}

// proveDatabase looks at the place of an SQLite file that does not exist yet.
func (i *Install) proveDatabase() error {
	if storeOf(i.DB) != SQLite || present(i.DB) {
		return nil
	}
	dir, err := os.Stat(filepath.Dir(i.DB))
	switch {
	case err != nil:
		return fmt.Errorf("db: %w; make the directory, or name a file in one that exists", err)
	case !dir.IsDir():
		return fmt.Errorf("db: %s is not a directory", filepath.Dir(i.DB))
	}
	return nil
}
