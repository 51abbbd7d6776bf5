package wire

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/writ-automation/writ/ports/extension"
)

func TestCall(t *testing.T) {
	t.Parallel()
	want := extension.ToolSpec{Command: "a\xff\x00", DryRun: true, Dir: "/x", PlanDigest: "sha256:0",
		Env:       map[string]string{"A": "b\xff"},
		ExtraVars: map[string]any{"n": json.Number("9007199254740993"), "list": []any{"x", true, nil}}}
	b, err := EncodeCall("tofu", want)
	if err != nil {
		t.Fatal(err)
	}
	tool, got, err := DecodeCall(b)
	if err != nil || tool != "tofu" || !reflect.DeepEqual(got, want) {
		t.Errorf("%s %+v, %v", tool, got, err)
	}
	if _, err := EncodeCall("x", extension.ToolSpec{Command: strings.Repeat("x", MaxCall)}); err == nil {
		t.Error("too much input is taken")
	}
	if _, err := EncodeCall("x", extension.ToolSpec{ExtraVars: map[string]any{"x": func() {}}}); err == nil {
		t.Error("a variable without JSON is taken")
	}
	for _, bad := range []string{"\xff", ""} {
		if _, _, err := DecodeCall([]byte(bad)); err == nil {
			t.Errorf("%q is decoded", bad)
		}
	}
}

func TestEnd(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]int{0: 0, 7: 7, 255: 255, -1: 255, 256: 255} {
		b, err := EncodeEnd(extension.ToolResult{ExitCode: code}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r, failed, err := DecodeEnd(b); r.ExitCode != want || failed != nil || err != nil {
			t.Errorf("%d: %+v, %v, %v", code, r, failed, err)
		}
	}
	b, err := EncodeEnd(extension.ToolResult{}, errors.New("no\nsuch\x1bthing"))
	if err != nil {
		t.Fatal(err)
	}
	if _, failed, err := DecodeEnd(b); err != nil || failed == nil || failed.Error() != "no such thing" {
		t.Errorf("%v, %v", failed, err)
	}
	if _, _, err := DecodeEnd(nil); !errors.Is(err, ErrNotReported) {
		t.Error(err)
	}
	wrong, err := proto.Marshal(&ToolEnd{Ended: true, ExitCode: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := DecodeEnd(wrong); err == nil {
		t.Error("an exit code of 1000")
	}
}

// TestPlan checks that a plan within the bounds arrives, and that both sides refuse another one with a sentence.
func TestPlan(t *testing.T) {
	t.Parallel()
	good := func(change func(*extension.Plan)) extension.ToolResult {
		p := &extension.Plan{Summary: "1 to update", Digest: "sha256:0+a/b=",
			Findings: []extension.PlanFinding{{Resource: "a", Action: "update", Diff: "x"}, {Resource: "b", Action: "c"}}}
		change(p)
		return extension.ToolResult{Plan: p}
	}
	long := strings.Repeat("x", extension.PlanText+1)
	for want, change := range map[string]func(*extension.Plan){
		"": func(p *extension.Plan) {}, "digest": func(p *extension.Plan) { p.Digest = "" },
		"signs":         func(p *extension.Plan) { p.Digest = "a b" },
		"128 letters":   func(p *extension.Plan) { p.Digest = long },
		"a summary of":  func(p *extension.Plan) { p.Summary = long },
		"a resource of": func(p *extension.Plan) { p.Findings[0].Resource = long },
		"an action of":  func(p *extension.Plan) { p.Findings[1].Action = long },
		"no resource":   func(p *extension.Plan) { p.Findings[1].Resource = "" },
		"4 MiB":         func(p *extension.Plan) { p.Findings[0].Diff = strings.Repeat("x", extension.PlanSize) },
		"5001 findings": func(p *extension.Plan) { p.Findings = make([]extension.PlanFinding, extension.PlanFindings+1) },
	} {
		in := good(change)
		b, err := EncodeEnd(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		out, failed, err := DecodeEnd(b)
		switch {
		case err != nil:
			t.Error(err)
		case want == "" && (failed != nil || !reflect.DeepEqual(in, out)):
			t.Errorf("%v, %+v", failed, out.Plan)
		case want != "" && (failed == nil || out.Plan != nil || !strings.Contains(failed.Error(), want)):
			t.Errorf("want %q, got %v", want, failed)
		}
		m := &ToolEnd{Ended: true, Plan: &Plan{Summary: in.Plan.Summary, Digest: in.Plan.Digest}}
		for _, f := range in.Plan.Findings {
			m.Plan.Findings = append(m.Plan.Findings, &PlanFinding{Resource: f.Resource, Action: f.Action, Diff: f.Diff})
		}
		if b, err = proto.Marshal(m); err != nil {
			t.Fatal(err)
		}
		if _, _, err := DecodeEnd(b); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("want %q of the other side, got %v", want, err)
		}
	}
}
