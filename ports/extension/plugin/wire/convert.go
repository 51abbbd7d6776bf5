package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/writ-automation/writ/ports/extension"
)

// FromRun returns the message of a run for a notifier.
func FromRun(notifier string, r extension.EndedRun) *EndedRun {
	return &EndedRun{
		Notifier: notifier, Delivery: text(r.Delivery), Id: text(r.ID), Name: text(r.Name), Tool: text(r.Tool),
		Status: text(r.Status), Error: text(r.Error), StartedAt: fromTime(r.StartedAt), EndedAt: fromTime(r.EndedAt),
		Record: r.Record,
	}
}

// ToRun returns the run of a message.
func ToRun(m *EndedRun) extension.EndedRun {
	return extension.EndedRun{
		Delivery: m.GetDelivery(), ID: m.GetId(), Name: m.GetName(), Tool: m.GetTool(), Status: m.GetStatus(),
		Error: m.GetError(), StartedAt: toTime(m.GetStartedAt()), EndedAt: toTime(m.GetEndedAt()), Record: m.GetRecord(),
	}
}

// text replaces what is no UTF-8, which a message cannot hold.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func fromTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

func toTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t
}

// FromConfig returns the JSON of a config or of variables.
func FromConfig(config map[string]any) ([]byte, error) {
	b, err := json.Marshal(config)
	if err != nil {
		return nil, errors.New("a value of the config has no JSON")
	}
	return b, nil
}

// ToConfig returns the config of its JSON. Its numbers are json.Number, so that none loses a digit.
func ToConfig(b []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var out map[string]any
	if err := d.Decode(&out); err != nil {
		return nil, errors.New("the config is no JSON object")
	}
	return out, nil
}

// EncodeCall returns the input of a process that runs a tool.
func EncodeCall(tool string, s extension.ToolSpec) ([]byte, error) {
	vars, err := json.Marshal(s.ExtraVars)
	if err != nil {
		return nil, errors.New("a variable has no JSON")
	}
	m := &ToolCall{Tool: tool, Command: []byte(s.Command), DryRun: s.DryRun, ExtraVars: vars, Dir: []byte(s.Dir),
		Env: make(map[string][]byte, len(s.Env))}
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
		Dir: string(m.GetDir()), Env: make(map[string]string, len(m.GetEnv()))}
	for name, value := range m.GetEnv() {
		s.Env[name] = string(value)
	}
	return m.GetTool(), s, nil
}

// maxExit is the largest exit code.
const maxExit = 255

// EncodeEnd returns the report of a process that ran a tool. An exit code that no process has is 255.
func EncodeEnd(r extension.ToolResult, failed error) ([]byte, error) {
	code := r.ExitCode
	if code < 0 || code > maxExit { // such as -1, which os/exec has for a program that a signal ended
		code = maxExit
	}
	m := &ToolEnd{Ended: true, ExitCode: int32(code)} //nolint:gosec // a small number
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
	return extension.ToolResult{ExitCode: int(m.GetExitCode())}, failed, nil
}

// maxShort is how many bytes of a plugin's message are kept.
const maxShort = 1000

// Short returns a message of a plugin as one bounded line without control characters.
func Short(s string) string {
	if len(s) > maxShort {
		s = strings.ToValidUTF8(s[:maxShort], "") + "..."
	}
	return strings.Join(strings.FieldsFunc(text(s), func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }), " ")
}

// Strict returns an error for a message with members that the protocol does not have.
func Strict(m proto.Message) error { return strict(m.ProtoReflect()) }

func strict(m protoreflect.Message) (err error) {
	if len(m.GetUnknown()) > 0 {
		return fmt.Errorf("its answer has unknown members of %s", m.Descriptor().Name())
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for i := range v.List().Len() {
				if err = strict(v.List().Get(i).Message()); err != nil {
					return false
				}
			}
		default:
			err = strict(v.Message())
		}
		return err == nil
	})
	return err
}
