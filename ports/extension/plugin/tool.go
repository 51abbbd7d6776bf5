package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/plugin/wire"
)

// canceled is the exit code of a tool that was canceled and told no other one.
const canceled = 128 + int(syscall.SIGTERM)

// runTool runs the one tool for which this process was started, and returns the exit code of the process. The code of
// the tool is in the report.
func runTool(e Extension) int {
	in, end := os.NewFile(wire.CallFD, "call"), os.NewFile(wire.EndFD, "end")
	// What the tool starts gets neither the descriptors nor the variable.
	syscall.CloseOnExec(wire.CallFD)
	syscall.CloseOnExec(wire.EndFD)
	if err := os.Unsetenv(wire.ModeVar); err != nil {
		return complain(err)
	}
	text, err := io.ReadAll(in)
	if err = errors.Join(err, in.Close()); err != nil {
		return complain(err)
	}
	name, spec, err := wire.DecodeCall(text)
	if err != nil {
		return complain(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	result, failed := call(ctx, e, name, spec)
	report, err := wire.EncodeEnd(result, failed)
	if err == nil {
		_, err = end.Write(report)
	}
	if err = errors.Join(err, end.Close()); err != nil {
		return complain(err)
	}
	return 0
}

func call(ctx context.Context, e Extension, name string, spec extension.ToolSpec) (extension.ToolResult, error) {
	tool, ok := e.Tools[name]
	if !ok {
		return extension.ToolResult{}, fmt.Errorf("the plugin has no tool %q", name)
	}
	result, err := tool.Run(ctx, spec, os.Stdout)
	if ctx.Err() != nil && (err != nil || result.ExitCode <= 0) {
		return extension.ToolResult{ExitCode: canceled}, nil
	}
	if !spec.DryRun {
		result.Plan = nil // as Writ ignores it
	}
	return result, err
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, "the plugin cannot run its tool:", err)
	return 1
}
