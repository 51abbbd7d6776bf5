package cron

import (
	"path"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/crontime"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

var (
	owned = lazyregexp.New(`^([A-Za-z0-9_][A-Za-z0-9_.-]{0,31}\$?)(?:[:/]\S*)?[ \t]+`)
	flags = lazyregexp.New(`^-[nqs]{1,3}[ \t]+`)
)

// job adds a template and its schedule.
func (r *reader) job(l *line) error {
	who, command := r.owner, strings.TrimRight(l.rest, " \t")
	if r.system {
		m := owned.FindStringSubmatch(command)
		if m == nil {
			r.skipLine(l, "the job has no account before its command")
			return nil
		}
		who, command = m[1], command[len(m[0]):]
	}
	t := importer.Object{Kind: importer.Template, Ref: ref(l.number)}
	flagged := false
	for m := flags.Get().FindString(command); m != ""; m = flags.Get().FindString(command) {
		command, flagged = command[len(m):], true
	}
	command, input, piped := percent(command)
	command = strings.TrimRight(command, " \t")
	if strings.TrimSpace(command) == "" {
		r.skipLine(l, "the job has no command")
		return nil
	}
	t.Name = r.draft.Name(importer.Template, r.title(l, command))
	if flagged || l.silent {
		warn(&t, "options", "the options of cron for the job are left out: they rule what cron logs and mails")
	}
	unlimited := 0
	spec := &importer.TemplateSpec{Tool: "bash", MaxConcurrent: &unlimited}
	t.Spec = spec
	r.account(&t, spec, who)
	s := script{reader: r, object: &t, spec: spec}
	if spec.Command = s.text(command, input, piped); len(spec.Command) > maxCommand {
		r.skipLine(l, "the command has more than %d MiB", maxCommand>>20)
		return nil
	}
	if r.scripts += len(spec.Command); r.scripts > maxScripts {
		return malformed(l.number, "the jobs with their variables have more than %d MiB", maxScripts>>20)
	}
	spec.Notifications = r.mail(&t)
	draft.Map(&t, "The job became a template with a bash script; its runs may overlap, as the jobs of cron do.")
	if r.how != "" {
		draft.Map(&t, "%s", r.how)
	}
	r.draft.Add(t)
	r.schedule(l, t.Name)
	return nil
}

// account says whose rights the job had.
func (r *reader) account(t *importer.Object, spec *importer.TemplateSpec, who string) {
	switch who {
	case "root":
		spec.IsolationProfile = "host"
		draft.Need(t, "account", "root ran the job, on another machine; a run executes on an executor, as an account of its "+
			"own and with the isolation profile host: write sudo before what needs root, and check the rest")
		draft.Map(t, "A job of root takes the isolation profile host, which only an administrator may save.")
	case "":
		draft.Need(t, "account", "the owner of the crontab ran the job, on another machine and in the home directory; a run "+
			"executes on an executor, as an account of its own: check that it reaches what the command needs")
	default:
		draft.Need(t, "account", "%s ran the job, on another machine and in the home directory; a run executes on an "+
			"executor, as an account of its own: check that it reaches what the command needs", who)
	}
}

// schedule adds the schedule of a template.
func (r *reader) schedule(l *line, template string) {
	skip := func(format string, args ...any) {
		r.draft.Skip(importer.Schedule, template, ref(l.number), format, args...)
	}
	if l.when == "@reboot" {
		skip("@reboot starts the job when a machine starts, and a schedule follows the clock")
		return
	}
	when, err := crontime.ParseUnix(l.when)
	if err != nil {
		skip("the server has no schedule for these times: %s", err)
		return
	}
	zone, loc, err := r.zone()
	if err != nil {
		skip("CRON_TZ names no known time zone")
		return
	}
	text, ok := when.Unix()
	if !ok {
		skip("the times cannot be written as a schedule of the server")
		return
	}
	o := importer.Object{Kind: importer.Schedule, Name: r.draft.Name(importer.Schedule, template), Ref: ref(l.number)}
	o.Spec = &importer.ScheduleSpec{Cron: text, Timezone: zone, Enabled: true, Overlap: "allow", Template: template}
	o.Fires = when.Next(r.now, loc, importer.MaxFires)
	if l.when == text {
		draft.Map(&o, "The times are those of the crontab.")
	} else {
		draft.Map(&o, "The times %s became %s.", l.when, text)
	}
	if zone == "" {
		draft.Map(&o, "It follows the clock of the server; set timezone if the machine of the crontab has another one.")
	} else {
		draft.Map(&o, "CRON_TZ became the timezone.")
	}
	if slices.ContainsFunc(strings.FieldsFunc(l.when, func(c rune) bool { return c == ' ' || c == ',' }), openStep) {
		warn(&o, "times", "not every cron reads a step after a single value; it goes on to the end of the field here")
	}
	if delay, _ := r.value("RANDOM_DELAY"); delay != "" && delay != "0" {
		warn(&o, "RANDOM_DELAY", "the start is not delayed by a random time")
	}
	if tz, _ := r.value("TZ"); tz != "" && zone == "" {
		warn(&o, "TZ", "the variable reaches the command only; some crons take it for the zone of the times as well")
	}
	r.draft.Add(o)
}

// openStep reports whether an element of a field is a single value with a step.
func openStep(part string) bool {
	value, _, stepped := strings.Cut(part, "/")
	return stepped && value != "*" && !strings.Contains(value, "-")
}

// percent splits a command at the first percent sign without a backslash, as cron does: what follows is standard input,
// in which further ones are line breaks.
func percent(text string) (command, input string, piped bool) {
	if !strings.Contains(text, "%") {
		return text, "", false
	}
	var parts [2]strings.Builder
	to := &parts[0]
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && text[i+1] == '%':
			i++
			to.WriteByte('%')
		case c == '%' && !piped:
			piped, to = true, &parts[1]
		case c == '%':
			to.WriteByte('\n')
		default:
			to.WriteByte(c)
		}
	}
	return parts[0].String(), parts[1].String(), piped
}

// background returns a command without the & that lets it run on by itself.
func background(command string) (string, bool) {
	front, ok := strings.CutSuffix(command, "&")
	front = strings.TrimRight(front, " \t")
	return front, ok && front != "" && !strings.HasSuffix(front, "&") && !strings.HasSuffix(front, `\`)
}

// script writes the script of a job.
type script struct {
	reader *reader
	object *importer.Object
	spec   *importer.TemplateSpec
	given  map[string]string // the secrets by the variable that holds them
}

func (s *script) text(command, input string, piped bool) string {
	var b strings.Builder
	b.Grow(s.reader.size + len(command) + len(input) + 256)
	shell, needed := s.variables(&b)
	if front, ok := background(command); ok {
		command = front
		warn(s.object, "command", "the & at the end is left out, since what a run starts ends with the run")
	}
	if intoFile(command) {
		warn(s.object, "command", "the command writes output to a file, so the log of a run lacks it")
	}
	command, input = s.hide(command), s.hide(input)
	switch {
	case needed:
		b.WriteString("exec " + quoted(shell) + " -c " + quoted(command))
	case strings.ContainsAny(command, ";|`(\n"):
		b.WriteString("set +e +o pipefail\n")
		draft.Map(s.object, "The script goes on after a failed command and reports the last one, as cron's shell does.")
		fallthrough
	default:
		if piped {
			command = "{ " + command + "\n}"
		}
		b.WriteString(command)
	}
	if piped {
		end := "END_OF_INPUT"
		for n := 2; strings.Contains(input, end); n++ {
			end = "END_OF_INPUT_" + itoa(n)
		}
		b.WriteString(" <<'" + end + "'\n" + strings.TrimSuffix(input, "\n") + "\n" + end)
		warn(s.object, "command", "the text behind the percent sign became a here-document")
	}
	b.WriteString("\n")
	return b.String()
}

// variables writes the lines that set the variables, and returns the shell if the script itself cannot be it.
func (s *script) variables(b *strings.Builder) (shell string, needed bool) {
	shell = "/bin/sh"
	var set []string
	for i := range s.reader.vars {
		v := &s.reader.vars[i]
		v.used = true
		switch v.name {
		case "MAILTO", "CRON_TZ", "RANDOM_DELAY":
			continue
		case "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING":
			warn(s.object, v.name, "the variable rules the mail of cron and is left out")
			continue
		case "SHELL":
			shell = v.value
			if base := path.Base(v.value); !slices.Contains([]string{"sh", "bash", "dash", "ash"}, base) {
				needed = true
			}
		case "BASH_ENV", "ENV":
			needed = true
		}
		if v.secret {
			s.replace(v)
			continue
		}
		set = append(set, v.name)
		b.WriteString(v.export)
	}
	if home, ok := s.reader.value("HOME"); ok && home != "" {
		b.WriteString("cd \"$HOME\" || exit\n")
		draft.Map(s.object, "The script starts in HOME.")
	}
	if len(set) > 0 {
		draft.Map(s.object, "The script sets %s.", strings.Join(set[:min(len(set), 20)], ", "))
	}
	return shell, needed
}

// replace leaves a secret variable to a credential.
func (s *script) replace(v *setting) {
	if strings.HasPrefix(v.name, "WRIT_") || strings.HasPrefix(v.name, "LD_") || v.name == "PATH" {
		draft.Need(s.object, v.name, "the value looks like a secret and is left out, and no credential may set the variable")
		return
	}
	s.credential(v.name, v.value, v.name)
	draft.Need(s.object, v.name, "the value looks like a secret and is left out: enter it in the credential that sets $%s",
		v.name)
}

var inQuotes = lazyregexp.New(`'[^']*'|"(?:[^"\\]|\\.)*"`)

// redirected matches a redirection of the output to a file.
var redirected = lazyregexp.New(`(?:^|[^<>&0-9-])(?:1|&)?>>?[|]?[ \t]*[^&>\s|]`)

// intoFile reports whether a command writes its output to a file.
func intoFile(command string) bool {
	return strings.Contains(command, ">") && redirected.MatchString(inQuotes.ReplaceAllString(command, "x"))
}

// quoted returns a text as a word of the shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
