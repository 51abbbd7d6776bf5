package cli

import (
	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/ports/secret"
)

// encryptionKeyEnv may hold the text of encryption.key, for installs that keep secrets in the environment.
const encryptionKeyEnv = "WRIT_ENCRYPTION_KEY"

// installFlags are the flags of every process that works on the database of an install.
type installFlags struct {
	db, encryptionKeyFile  string
	localProjects          string
	allowPrivate           []string
	secretEnv, secretFiles string
}

// register adds the flags, with the database that is meant by default.
func (f *installFlags) register(fs *pflag.FlagSet, db, key string) {
	fs.StringVar(&f.db, "db", db, "database: a `path` is SQLite, postgres://... is Postgres")
	fs.StringVar(&f.encryptionKeyFile, "encryption-key-file", "",
		"`file` of the keys that seal secrets (default encryption.key in "+key+")")
	fs.StringVar(&f.localProjects, "local-projects", "",
		"`directory` below which file projects are allowed (default none)")
	fs.StringSliceVar(&f.allowPrivate, "allow-private-egress", nil,
		"private `networks` that inventory sources and notifications may reach")
	fs.StringVar(&f.secretEnv, "secret-env", "",
		"`patterns` of environment variables that credentials may take: APP_*,DB_PASSWORD (default none)")
	fs.StringVar(&f.secretFiles, "secret-files", "", "`directory` below which credentials may read files (default none)")
}

// install turns the flags into settings.
func (f *installFlags) install(w environment) (compose.Install, error) {
	private, err := prefixes("allow-private-egress", f.allowPrivate)
	if err != nil {
		return compose.Install{}, err
	}
	for name, path := range map[string]*string{"local-projects": &f.localProjects, "secret-files": &f.secretFiles} {
		if err := fromRoot(name, path); err != nil {
			return compose.Install{}, err
		}
	}
	return compose.Install{
		DB: f.db, EncryptionKeyFile: f.encryptionKeyFile, EncryptionKey: secret.Text(w.env(encryptionKeyEnv)),
		LocalProjects: f.localProjects, AllowPrivate: private,
		Secrets: compose.Secrets{Env: f.secretEnv, Files: f.secretFiles},
	}, nil
}
