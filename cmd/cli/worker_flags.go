package cli

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/cmd/compose"
)

// workerFlags are the flags of worker, which are also the keys of a configuration file. Most are settings themselves.
type workerFlags struct {
	compose.WorkerSettings
	executorFlags
	installFlags

	labels []string
}

func (f *workerFlags) register(fs *pflag.FlagSet) {
	f.executorFlags.register(fs, &f.Executor, &f.Token,
		"the worker's own `directory` (default beside an SQLite database, else .writ-worker)",
		"`token` that authenticates the worker at the server")
	f.installFlags.register(fs, &f.Install, "", "the data directory, else in the server's default one")
	fs.StringVar(&f.Server, "server", "", "`address` of the server whose relay to use instead of a database")
	fs.StringVar(&f.SigningKeyFile, "signing-key-file", "",
		"`file` of the signing keys whose tree heads are trusted (default the keys that the database lists)")
	fs.StringVar(&f.CAFile, "ca-file", "",
		"PEM `file` of the authorities to trust for the server (default the machine's)")
	fs.BoolVar(&f.InsecureHTTP, "insecure-http", false,
		"allow plain http beyond loopback, which exposes the secrets of runs")
	fs.StringSliceVar(&f.labels, "labels", nil, "`key=value` that the list of workers shows (repeatable)")
}

// load sets flags that the command line omits. If the command line names the database or the server, the other one
// must be named there as well: a variable for another command is ignored.
func (f *workerFlags) load(fs *pflag.FlagSet, w environment) error {
	if err := f.executorFlags.load(fs, w); err != nil {
		return err
	}
	switch db, server := fs.Changed("db"), fs.Changed("server"); {
	case db && !server:
		f.Server = ""
	case server && !db:
		f.DB = ""
	}
	return nil
}

// settings returns the settings of a worker.
func (f *workerFlags) settings(w environment) (compose.WorkerSettings, error) {
	s := f.WorkerSettings
	err := f.executorFlags.complete(&s.Executor, w)
	if err == nil {
		err = f.installFlags.complete(&s.Install, w)
	}
	if err != nil {
		return compose.WorkerSettings{}, usageError{err}
	}
	if s.Labels, err = pairs("labels", f.labels); err != nil {
		return compose.WorkerSettings{}, err
	}
	s.Server = strings.TrimRight(s.Server, "/")
	if err := s.Validate(); err != nil {
		return compose.WorkerSettings{}, usageError{err}
	}
	return s, nil
}
