package compose

import (
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/platform/config"
)

// box is a section with one profile named box.
func box(members map[string][]string) config.Section { return config.Section{"box": members} }

// digest is that of no image.
const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// inImage are the members of a profile in a container, one of which is set.
func inImage(key, value string) map[string][]string {
	out := map[string][]string{"base": {"container"}, "image": {"registry.example/tools/ansible:9@sha256:" + digest}}
	out[key] = []string{value}
	return out
}

func TestContainerProfiles(t *testing.T) {
	t.Parallel()
	i := Isolation{Profiles: box(inImage("network", "none")), QueueProfiles: []string{"a=box"}}
	got, err := i.profiles()
	if err != nil {
		t.Fatal(err)
	}
	p := got.Named["box"]
	if !strings.HasSuffix(p.Image, digest) || !p.NoNetwork || !p.NoHome || p.Host || got.Named["container"].Image != "" {
		t.Errorf("%+v", p)
	}
	privileged, err := i.privileged()
	if err != nil || privileged("box") {
		t.Errorf("a container is privileged: %v", err)
	}
	if _, err := (&Isolation{Profile: "container"}).profiles(); err == nil {
		t.Error("the base without an image is a profile")
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	i := Isolation{Memory: 1 << 30, Processes: 100, TmpSize: 1 << 30, QueueProfiles: []string{"a=box", "a=host"},
		Profiles: box(map[string][]string{"base": {"sealed"}, "network": {"host"}, "hide": {"/srv/"},
			"show":   {"/opt:rw", "/etc"},
			"memory": {"512MiB"}, "pids": {"7"}, "tmp_size": {"1MiB"}, "nested": {"true"}, "groups": {"4"}})}
	got, err := i.profiles()
	if err != nil {
		t.Fatal(err)
	}
	p := got.Named["box"]
	if p.NoNetwork || !p.ReadOnly || !p.NoHome || !p.Nested || p.Memory != 512<<20 || p.Processes != 7 ||
		p.SharedMemory != 1<<20 || !slices.Contains(p.Hide, "/srv") || !slices.Contains(p.Hide, "/root") ||
		!slices.Equal(p.Groups, []int{4}) || len(p.Show) != 2 || !p.Show[0].Write || p.Show[1].Write {
		t.Errorf("%+v", p)
	}
	if !slices.Equal(got.Queues["a"], []string{"box", "host"}) || len(got.Named["sealed"].Hide) == len(p.Hide) {
		t.Errorf("%+v", got)
	}
	privileged, err := i.privileged()
	if err != nil || privileged("box") || privileged("sealed") || !privileged("host") || !privileged("none-such") {
		t.Error("profiles that become root are not privileged")
	}
}

func TestProfilesAreChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		i    Isolation
		want string
	}{
		"container":   {Isolation{Profiles: box(map[string][]string{"base": {"container"}})}, "needs one, as NAME@sha256"},
		"tag":         {Isolation{Profiles: box(inImage("image", "a:1"))}, "not \"a:1\""},
		"nested":      {Isolation{Profiles: box(inImage("nested", "true"))}, "no further user namespaces"},
		"option":      {Isolation{Profiles: box(inImage("image", "--privileged@sha256:"+digest))}, "expected NAME@"},
		"base":        {Isolation{Profiles: box(map[string][]string{"base": {"none"}})}, "expected standard, sealed"},
		"bases":       {Isolation{Profiles: box(map[string][]string{"base": {"sealed", "host"}})}, "expected one value"},
		"built-in":    {Isolation{Profiles: config.Section{"sealed": nil}}, "built-in"},
		"name":        {Isolation{Profiles: config.Section{"A B": nil}}, "other characters"},
		"key":         {Isolation{Profiles: box(map[string][]string{"nets": {"x"}})}, "unknown key"},
		"network":     {Isolation{Profiles: box(map[string][]string{"network": {"some"}})}, "host or none"},
		"flag":        {Isolation{Profiles: box(map[string][]string{"read_only": {"maybe"}})}, "true or false"},
		"memory":      {Isolation{Memory: 1 << 20, Profiles: box(map[string][]string{"memory": {"1GiB"}})}, "--run-memory"},
		"size":        {Isolation{Profiles: box(map[string][]string{"tmp_size": {"much"}})}, "number of bytes"},
		"pids":        {Isolation{Processes: 5, Profiles: box(map[string][]string{"pids": {"6"}})}, "--run-pids"},
		"show":        {Isolation{Profiles: box(map[string][]string{"show": {"relative"}})}, "absolute path"},
		"hide":        {Isolation{Profiles: box(map[string][]string{"hide": {"relative"}})}, "absolute path"},
		"groups":      {Isolation{Profiles: box(map[string][]string{"groups": {"root"}})}, "that of root"},
		"no group":    {Isolation{Profiles: box(map[string][]string{"groups": {"none-such"}})}, "there is no group"},
		"image":       {Isolation{Profiles: box(map[string][]string{"image": {"a@sha256:" + digest}})}, "only the base"},
		"host":        {Isolation{Profiles: box(map[string][]string{"base": {"host"}, "nested": {"true"}})}, "mean nothing"},
		"default":     {Isolation{Profile: "none-such"}, "isolation-profile: there is no profile"},
		"queue":       {Isolation{QueueProfiles: []string{"a=none-such"}}, "queue-profile: there is no profile"},
		"queue, form": {Isolation{QueueProfiles: []string{"=host"}}, "expected QUEUE=NAME"},
	} {
		if _, err := c.i.profiles(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
