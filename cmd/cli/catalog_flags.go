package cli

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/platform/config"
	"github.com/writ-automation/writ/ports/secret"
)

// encryptionKeyEnv may hold the text of encryption.key, for installs that keep secrets in the environment.
const encryptionKeyEnv = "WRIT_ENCRYPTION_KEY"

// catalogFlags are the flags of what people launch and of what launches it.
type catalogFlags struct {
	localProjects     string
	encryptionKeyFile string
	catchup           config.Duration
	allowPrivate      []string
}

func (f *catalogFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.localProjects, "local-projects", "", "`directory` below which file projects may lie (default none)")
	fs.StringVar(&f.encryptionKeyFile, "encryption-key-file", "", "`file` of the keys that seal secrets (default encryption.key in the data directory)")
	config.DurationVar(fs, &f.catchup, "schedule-catchup", 5*time.Minute, "how late a schedule that was missed still fires")
	fs.StringSliceVar(&f.allowPrivate, "allow-private-egress", nil, "private `networks` that inventory sources and notifications may reach")
}

func (f *catalogFlags) apply(s *compose.Settings, w world) error {
	private, err := prefixes("allow-private-egress", f.allowPrivate)
	if err != nil {
		return err
	}
	if f.localProjects != "" {
		if f.localProjects, err = filepath.Abs(f.localProjects); err != nil {
			return fmt.Errorf("local-projects: %w", err)
		}
	}
	s.Catalog = compose.Catalog{LocalProjects: f.localProjects, Catchup: f.catchup.Duration, AllowPrivate: private}
	s.EncryptionKeyFile, s.EncryptionKey = f.encryptionKeyFile, secret.Text(w.env(encryptionKeyEnv))
	return nil
}
