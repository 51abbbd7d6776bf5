package cli

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/cmd/compose"
)

// workerFlags are the flags of worker, which are also the keys of a configuration file.
type workerFlags struct {
	executorFlags
	installFlags

	server, caFile, signingKeyFile string
	insecureHTTP                   bool
	labels                         []string
}

func (f *workerFlags) register(fs *pflag.FlagSet) {
	f.executorFlags.register(fs, "the worker's own `directory` (default beside an SQLite database, else .writ-worker)",
		"`token` that authenticates the worker at the server")
	f.installFlags.register(fs, "", "the data directory, else in the server's default one")
	fs.StringVar(&f.server, "server", "", "`address` of the server whose relay to use instead of a database")
	fs.StringVar(&f.signingKeyFile, "signing-key-file", "",
		"`file` of the signing keys whose tree heads are trusted (default the keys that the database lists)")
	fs.StringVar(&f.caFile, "ca-file", "",
		"PEM `file` of the authorities to trust for the server (default the machine's)")
	fs.BoolVar(&f.insecureHTTP, "insecure-http", false,
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
		f.server = ""
	case server && !db:
		f.db = ""
	}
	return nil
}

// settings converts the flags to the settings of a worker.
func (f *workerFlags) settings(w environment) (compose.WorkerSettings, error) {
	executor, err := f.executor(w)
	if err != nil {
		return compose.WorkerSettings{}, usageError{err}
	}
	install, err := f.install(w)
	if err != nil {
		return compose.WorkerSettings{}, usageError{err}
	}
	labels, err := pairs("labels", f.labels)
	if err != nil {
		return compose.WorkerSettings{}, err
	}
	s := compose.WorkerSettings{
		Executor: executor, Install: install, Labels: labels, SigningKeyFile: f.signingKeyFile,
		Relay: compose.Relay{Server: strings.TrimRight(f.server, "/"), Token: f.token(), CAFile: f.caFile,
			InsecureHTTP: f.insecureHTTP},
	}
	if err := s.Validate(); err != nil {
		return compose.WorkerSettings{}, usageError{err}
	}
	return s, nil
}
