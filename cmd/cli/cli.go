package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/compose"
)

// Exit codes of every command. A few have further ones of their own.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a mistake in how a command was called.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errSilent ends a command as failed when all messages were printed already.
var errSilent = errors.New("failed")

// environment holds what a command may use besides its flags.
type environment struct {
	out, err io.Writer
	in       io.Reader
	environ  []string
	docs     fs.FS
	options  []compose.Option
	plain    *bool       // --no-color
	keyring  keyring     // nil for none
	conn     *connection // of the command, if its completions need it too; else nil
}

func (w environment) env(name string) string {
	for i := len(w.environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(w.environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// Execute runs the command line of the process and returns its exit code: 0 done, 1 failed, 2 usage. The user interface
// serves the pages in docs; nil omits them. The options replace adapters of servers and workers.
func Execute(docs fs.FS, options ...compose.Option) int {
	w := environment{out: os.Stdout, err: os.Stderr, in: os.Stdin, environ: os.Environ(), docs: docs, options: options,
		keyring: systemKeyring{}}
	return execute(context.Background(), w, os.Args[1:])
}

func execute(ctx context.Context, w environment, args []string) int {
	root := commandTree(w, func(noun string) bool { return len(args) == 0 || slices.Contains(args, noun) })
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var usage usageError
	var code exitCode
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, errSilent):
		return exitFailed
	case errors.As(err, &usage):
		_, _ = fmt.Fprintf(w.err, "writ: %v\n", err)
		return exitUsage
	default:
		_, _ = fmt.Fprintf(w.err, "writ: %v\n", err)
		return exitFailed
	}
}

// rootCommand makes all commands.
func rootCommand(w environment) *cobra.Command {
	return commandTree(w, func(string) bool { return true })
}

// commandTree makes the commands; those of nouns only if the noun is wanted.
func commandTree(w environment, wanted func(noun string) bool) *cobra.Command {
	w.plain = new(bool)
	root := &cobra.Command{
		Use:           "writ",
		Short:         "Run, approve, follow and audit automation against fleets of hosts",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          args(cobra.NoArgs),
		Example:       rootExample,
		Version:       readBuild().Version,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.Flags().Bool("version", false, "print the version") // without the short flag that cobra would choose
	root.PersistentFlags().BoolVar(w.plain, "no-color", false, "print no colours, as the variable NO_COLOR demands")
	root.SetFlagErrorFunc(unknownFlag)
	root.SetOut(w.out)
	root.SetErr(w.err)
	root.SetIn(w.in)
	root.AddCommand(
		serveCommand(w), demoCommand(w), desktopCommand(w), workerCommand(w),
		userCommand(w), tokenCommand(w), auditCommand(w), versionCommand(w),
		runCommand(w), runsCommand(w), logsCommand(w), cancelCommand(w), approveCommand(w), rejectCommand(w),
		launchCommand(w), applyCommand(w), exportCommand(w), importCommand(w), deadLetterCommand(w), licenseCommand(w),
		policyCommand(w), queueCommand(w), windowCommand(w), estateCommand(w), hostsCommand(w), hostCommand(w),
		driftCommand(w), changesCommand(w), changeCommand(w), manCommand(w),
		rerunCommand(w), retryCommand(w), relaunchCommand(w), compareCommand(w), failuresCommand(w),
		pipelineCommand(w), watchCommand(w),
		loginCommand(w), logoutCommand(w), contextCommand(w), apiCommand(w), whoamiCommand(w), doctorCommand(w),
		mcpCommand(w),
	)
	addNouns(root, w, wanted)
	grouped(root)
	root.InitDefaultCompletionCmd() // now, so that the manual pages have it too; it keeps the output of the root
	return root
}

// args makes a wrong number of arguments, and flags that do not go together, a usage error.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, a []string) error {
		if err := cmp.Or(check(c, a), c.ValidateRequiredFlags(), c.ValidateFlagGroups()); err != nil {
			return usageError{fmt.Errorf("%w%s\nSee '%s --help'", err, unknownCommand(c, a), c.CommandPath())}
		}
		return nil
	}
}
