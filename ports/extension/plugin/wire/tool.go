package wire

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/writ-automation/writ/ports/extension"
)

// EncodeCall returns the input of a process that runs a tool.
func EncodeCall(tool string, s extension.ToolSpec) ([]byte, error) {
	vars, err := json.Marshal(s.ExtraVars)
	if err != nil {
		return nil, errors.New("a variable has no JSON")
	}
	m := &ToolCall{Tool: tool, Command: []byte(s.Command), DryRun: s.DryRun, ExtraVars: vars, Dir: []byte(s.Dir),
		PlanDigest: text(s.PlanDigest), Env: make(map[string][]byte, len(s.Env))}
	for name, value := range s.Env {
		m.Env[text(name)] = []byte(value)
	}
	out, err := proto.Marshal(m)
	if err == nil && len(out) > MaxCall {
		err = fmt.Errorf("it is larger than %d MiB", MaxCall>>20)
	}
	return out, err
}

// DecodeCall returns the tool and the input of EncodeCall.
func DecodeCall(b []byte) (tool string, s extension.ToolSpec, err error) {
	m := new(ToolCall)
	if err := proto.Unmarshal(b, m); err != nil {
		return "", s, err
	}
	vars, err := ToConfig(m.GetExtraVars())
	if err != nil {
		return "", s, err
	}
	s = extension.ToolSpec{Command: string(m.GetCommand()), DryRun: m.GetDryRun(), ExtraVars: vars,
		Dir: string(m.GetDir()), PlanDigest: m.GetPlanDigest(), Env: make(map[string]string, len(m.GetEnv()))}
	for name, value := range m.GetEnv() {
		s.Env[name] = string(value)
	}
	return m.GetTool(), s, nil
}

// maxExit is the largest exit code.
const maxExit = 255

// EncodeEnd returns the report of a process that ran a tool. An exit code that no process has is 255. A plan that
// exceeds a bound is an error of the tool.
func EncodeEnd(r extension.ToolResult, failed error) ([]byte, error) {
	code := r.ExitCode
	if code < 0 || code > maxExit { // such as -1, which os/exec has for a program that a signal ended
		code = maxExit
	}
	m := &ToolEnd{Ended: true, ExitCode: int32(code)} //nolint:gosec // a small number
	if r.Plan != nil && failed == nil {
		m.Plan, failed = fromPlan(r.Plan)
	}
	if failed != nil {
		m.Error = text(Short(failed.Error()))
	}
	return proto.Marshal(m)
}

// ErrNotReported is the error of a tool that ended without a report.
var ErrNotReported = errors.New("the tool reported no end")

// DecodeEnd returns what EncodeEnd got, and ErrNotReported or another error for a wrong report.
func DecodeEnd(b []byte) (r extension.ToolResult, failed, err error) {
	if len(b) == 0 {
		return r, nil, ErrNotReported
	}
	if len(b) > MaxEnd {
		return r, nil, fmt.Errorf("its report is larger than %d MiB", MaxEnd>>20)
	}
	if n := countFindings(b); n > extension.PlanFindings {
		return r, nil, tooMany(n)
	}
	m := new(ToolEnd)
	if err := proto.Unmarshal(b, m); err != nil {
		return r, nil, errors.New("its report is unreadable")
	}
	if err := Strict(m); err != nil {
		return r, nil, err
	}
	if code := m.GetExitCode(); code < 0 || code > maxExit {
		return r, nil, fmt.Errorf("its report has the exit code %d", code)
	}
	if m.GetError() != "" {
		failed = errors.New(Short(m.GetError()))
	}
	plan, err := toPlan(m.GetPlan())
	if err != nil {
		return r, nil, err
	}
	return extension.ToolResult{ExitCode: int(m.GetExitCode()), Plan: plan}, failed, nil
}
