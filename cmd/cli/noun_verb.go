package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/cli/internal/apidoc"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/secrets"
)

// command makes the command of an operation.
func (n *noun) command(w environment, o operation) *cobra.Command {
	w.conn = &connection{}
	switch {
	case o.List != "" && o.Method == http.MethodGet:
		return n.listCommand(w, o)
	case o.Method == http.MethodGet:
		return n.showCommand(w, o)
	case o.verb == "edit":
		return n.editCommand(w, o)
	case o.verb == "delete":
		return n.deleteCommand(w, o)
	}
	return n.actCommand(w, o)
}

// versionParam is the parameter of a path that is a number and no object.
const versionParam = "version"

// verbCommand begins a command: its arguments are the objects in the path, the last one may be given several times.
func (n *noun) verbCommand(o operation, several string) *cobra.Command {
	use, count := o.verb, 0
	for param := range strings.SplitSeq(o.Path, "{") {
		name, _, isParam := strings.Cut(param, "}")
		if !isParam {
			continue
		}
		count++
		switch name {
		case "userID":
			use += " USER"
		case versionParam:
			use += " VERSION"
		default:
			use += " " + n.argument()
		}
	}
	c := &cobra.Command{
		Use: use + several, Aliases: verbAliases(o), Short: strings.TrimSuffix(o.Summary, "."),
		Long: o.Summary + ".\n" + wrapped(n.about(o)), Args: args(cobra.ExactArgs(count)), Example: n.example(o),
	}
	switch {
	case several != "":
		c.Args = args(cobra.MinimumNArgs(count))
	case count == 0:
		c.Args = args(cobra.NoArgs)
	}
	return c
}

// about is what the help tells of an operation.
func (n *noun) about(o operation) string {
	if n.name == "run" && strings.Contains(o.Path, "{") {
		return strings.TrimSpace(o.Description + " RUN is an id, or \"latest\" for the newest run that you may read.")
	}
	return o.Description
}

// wrapped breaks a text for the width of a help page.
func wrapped(text string) string {
	if text == "" {
		return ""
	}
	lines := wrap(text, plainWide)
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return "\n" + strings.Join(lines, "\n") + "\n"
}

// examples of names, by noun.
func (n *noun) sample() string {
	if n.name == "run" {
		return latestRun
	}
	if n.prefix != "" && n.label == "" {
		return string(n.prefix) + "01m7yhrqq9d6r0e7tgwpwzadbc"
	}
	switch n.name {
	case "user":
		return "alice"
	case "host":
		return "web-1.example.net"
	}
	return "web"
}

// example shows how an operation is called.
func (n *noun) example(o operation) string {
	line := "  writ " + n.name + " " + o.verb
	if n.under != "" && n.as != "ignore" {
		line = "  writ " + n.under + " " + n.as + " " + o.verb
	}
	if strings.Contains(o.Path, "{") {
		line += " " + n.sample()
	}
	if strings.Contains(o.Path, "{userID}") {
		line += " alice"
	}
	if strings.Contains(o.Path, "{"+versionParam+"}") {
		line += " 2"
	}
	switch o.verb {
	case "list":
		return line + " --limit 20\n" + line + " -o wide"
	case "show":
		return line + "\n" + line + " -o yaml"
	case "create":
		if n.label == "name" {
			line += " " + n.sample()
		}
		return line + n.required(o) + "\n  writ " + n.name + " create --file " + n.use() + ".yaml"
	case "edit":
		return line + "\n" + line + " --file " + n.use() + ".yaml"
	case "delete":
		return line + " --yes"
	}
	return line + n.required(o)
}

// required are the flags that an example needs.
func (n *noun) required(o operation) (line string) {
	for _, m := range append(append([]apidoc.Member{}, o.Query...), o.Body...) {
		required := m.Required || strings.HasPrefix(m.Description, "Required unless")
		if !required || m.ReadOnly || m.Name == n.label && o.verb == "create" {
			continue
		}
		value := strings.ToUpper(strings.ReplaceAll(m.Name, "_", "-"))
		switch {
		case len(m.Enum) > 0:
			value = m.Enum[0]
		case linesMember(m):
			value = "@FILE"
		}
		if m.Type == "array" && m.Items == "object" || len(m.Members) > 0 {
			line += " --set '" + m.Name + ":=JSON'"
		} else {
			line += " --" + flagOf(m) + " " + value
		}
		if secret := secrets.Kind(value).Members(); m.Name == "kind" && len(secret) > 0 {
			line += " --secret " + secret[0].Name + "=@FILE"
		}
	}
	return line
}

// completed adds the connection and the completion of names to a command.
func (n *noun) completed(
	w environment, o operation, c *cobra.Command, run func(context.Context, *client, []string, printer) error,
) *cobra.Command {
	c = clientCommand(w, c, run)
	of := []string{n.name}
	switch {
	case strings.Contains(o.Path, "{"+versionParam+"}"):
		of = append(of, "") // a number
	case len(strings.Fields(c.Use)) > 2:
		of = append(of, "user") // of a group
	}
	c.ValidArgsFunction = cobra.NoFileCompletions
	if strings.Contains(o.Path, "{") {
		c.ValidArgsFunction = completeArguments(w, of...)
	}
	return c
}

// actCommand sends an operation that changes or does something: create, and the verbs that only a noun has.
func (n *noun) actCommand(w environment, o operation) *cobra.Command {
	var f bodyFlags
	c := n.verbCommand(o, "")
	last := n.lastArgument(c, o)
	f.register(w, c, slices.DeleteFunc(slices.Clone(o.Body), func(m apidoc.Member) bool {
		return m.Name == last && o.verb == "add" // only an argument
	}))
	f.derived = o.Answer
	edit, compares := n.operation("edit")
	compares = compares && strings.HasPrefix(o.verb, "compare")
	confirm, asks := confirmFlag{}, o.Method == http.MethodDelete || o.ID == "rotate-trigger-secret"
	if asks {
		confirm.register(c)
	}
	return n.completed(w, o, c, func(ctx context.Context, cl *client, a []string, out printer) error {
		path, err := n.path(ctx, cl, o, a)
		if err != nil {
			return err
		}
		var body map[string]any
		if len(o.Body) > 0 {
			body = map[string]any{}
		}
		if compares {
			// The state that is compared is the object with the changes of the flags.
			if body, _, err = n.state(ctx, cl, edit, a[0]); err != nil {
				return err
			}
		}
		if err := f.fill(w, c.Flags(), body); err != nil {
			return err
		}
		if last != "" && len(a) > strings.Count(o.Path, "{") {
			body[last] = a[len(a)-1]
		}
		if err := f.complete(c, body, last); err != nil {
			return err
		}
		if err := cl.resolve(ctx, body, o.Body); err != nil {
			return err
		}
		if asks {
			if err := confirm.ask(out, n.question(o, a)); err != nil {
				return err
			}
		}
		return n.send(ctx, cl, o, path, body, out)
	})
}

// question is what a verb that takes something away is about to do.
func (n *noun) question(o operation, a []string) string {
	if len(a) > 1 {
		return o.verb + " " + a[1] + " from the " + n.words() + " " + a[0]
	}
	return strings.ReplaceAll(o.verb, "-", " ") + " of the " + n.words() + " " + a[0]
}

// lastArgument lets the member that names a new object, or a new member of a group, be an argument.
func (n *noun) lastArgument(c *cobra.Command, o operation) (member string) {
	params := strings.Count(o.Path, "{")
	switch {
	case o.verb == "add":
		c.Use += " USER"
		c.Example = strings.Replace(c.Example, " --user USER-ID", " alice", 1)
		c.Args = args(cobra.ExactArgs(params + 1))
		return "user_id"
	case o.verb == "create" && n.label != "" && hasMember(writable(o.Body), n.label):
		c.Use += " [" + strings.ToUpper(n.label) + "]"
		c.Args = args(cobra.MaximumNArgs(1))
		return n.label
	}
	return ""
}

// complete refuses a body that lacks required members, naming their flags.
func (f *bodyFlags) complete(c *cobra.Command, body map[string]any, last string) error {
	var missing []string
	for _, m := range f.members {
		if _, ok := body[m.Name]; ok || !m.Required {
			continue
		}
		switch flag := f.flags[m.Name]; {
		case m.Name == last:
			missing = append(missing, strings.ToUpper(last))
		case flag == "":
			missing = append(missing, "--set "+m.Name+":=JSON")
		default:
			missing = append(missing, "--"+flag)
		}
	}
	if len(missing) > 0 {
		return usagef("expected %s\nSee '%s --help'", strings.Join(missing, ", "), c.CommandPath())
	}
	return nil
}

// done is the past of a verb in the line that a command prints.
func done(verb string) string {
	switch verb {
	case "create":
		return "created"
	case "edit":
		return "changed"
	case "add":
		return "added"
	case "delete":
		return "deleted"
	case "remove":
		return "removed"
	}
	return verb
}

// slowest is how long a server may take for an operation whose caller waits for another program, 0 for any other one.
func slowest(o operation) time.Duration {
	switch {
	case o.Tag == "ai":
		return ai.CallTimeout
	case o.ID == "sync-project":
		return catalog.SyncLife
	case o.ID == "refresh-inventory-source":
		return catalog.RefreshLife
	}
	return 0
}

// send sends a request and prints its answer: the line of a new object, a new secret or advice alone, else the whole
// answer.
func (n *noun) send(
	ctx context.Context, c *client, o operation, path string, body map[string]any, out printer,
) error {
	var sent any
	if body != nil {
		sent = body
	}
	advice := o.Tag == "ai"
	if takes := slowest(o); takes > 0 {
		patient := *c
		patient.limit, c = takes+answerTimeout, &patient
		if interactive(out.err) {
			_, _ = fmt.Fprintf(out.err, "writ: waiting for %s, which may take %s\n", c.base, takes)
		}
	}
	resp, _, err := c.exchangeRaw(ctx, o.Method, path, "", sent)
	if err != nil {
		return err
	}
	if len(resp) == 0 {
		return out.print(map[string]any{done(o.verb): path[strings.LastIndex(path, "/")+1:]}, "%s", done(o.verb))
	}
	v, err := decoded(resp)
	if err != nil {
		return fmt.Errorf("the answer of %s has an unknown format: %w", c.base, err)
	}
	answer, _ := v.(map[string]any)
	secret := stringField(answer, "token")
	switch {
	case out.json:
		return out.document(json.RawMessage(resp))
	case secret != "" && strings.HasPrefix(o.ID, "mint-"):
		_, err := fmt.Fprintln(out.out, plainText(secret)) // alone, so that a script can keep it
		return err
	case advice && stringField(answer, "text") != "": // alone, so that a script can be kept
		_, err := fmt.Fprintln(out.out, plainText(strings.TrimSuffix(stringField(answer, "text"), "\n")))
		return err
	case o.verb == "create" || o.verb == "edit" || o.verb == "add":
		n.printLine(out, done(o.verb), answer)
		return nil
	}
	return printObject(out, resp)
}

// printLine tells what was done to an object, and what is shown only now.
func (n *noun) printLine(out printer, did string, o map[string]any) {
	name := cmp.Or(stringField(o, n.label), stringField(o, "username"), stringField(o, "name"))
	id := stringField(o, "id")
	if name != "" && id != "" {
		id = " (" + id + ")"
	}
	_, _ = fmt.Fprintf(out.out, "%s %s %s\n", did, n.words(), oneLine(name+id, 300))
	for _, m := range []string{"hook_path", "signing_secret"} {
		if v := stringField(o, m); v != "" {
			_, _ = fmt.Fprintf(out.out, "  %-14s  %s\n", strings.ReplaceAll(m, "_", " "), plainText(v))
		}
	}
	for _, x := range objects(o["warnings"]) {
		tellWarning(out, stringField(x, "message"))
	}
}
