package cli

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/ports/secret"
)

// encryptionKeyEnv may hold the text of encryption.key, for installs that keep secrets in the environment.
const encryptionKeyEnv = "WRIT_ENCRYPTION_KEY"

// installFlags are the flags of every process that works on the database of an install, beside its settings.
type installFlags struct{ allowPrivate []string }

// register adds the flags and those of the settings, with the database that is meant by default.
func (f *installFlags) register(fs *pflag.FlagSet, i *compose.Install, db, key string) {
	fs.StringVar(&i.DB, "db", db, "database: a `path` is SQLite, postgres://... is Postgres")
	fs.StringVar(&i.EncryptionKeyFile, "encryption-key-file", "",
		"`file` of the keys that seal secrets (default encryption.key in "+key+")")
	fs.StringVar(&i.LocalProjects, "local-projects", "",
		"`directory` below which file projects are allowed (default none)")
	fs.StringSliceVar(&f.allowPrivate, "allow-private-egress", nil,
		"private `networks` that inventory sources and notifications may reach")
	fs.StringVar(&i.SourceQueue, "source-queue", "",
		"`queue` whose executors run the scripts and plugins of inventory sources (default the queue named default)")
	fs.StringVar(&i.Secrets.Env, "secret-env", "",
		"`patterns` of environment variables that credentials may take: APP_*,DB_PASSWORD (default none)")
	fs.StringVar(&i.Secrets.Files, "secret-files", "",
		"`directory` below which credentials may read files (default none)")
}

// complete sets the settings that are no flags, and makes paths absolute.
func (f *installFlags) complete(i *compose.Install, w environment) (err error) {
	if i.AllowPrivate, err = prefixes("allow-private-egress", f.allowPrivate); err != nil {
		return err
	}
	i.EncryptionKey = secret.Text(w.env(encryptionKeyEnv))
	return errors.Join(fromRoot("local-projects", &i.LocalProjects), fromRoot("secret-files", &i.Secrets.Files))
}
