// Package plugin is for the main package of a plugin: an executable in the directory that --plugins-dir names.
//
//	func main() {
//		plugin.Serve(plugin.Extension{Tools: map[string]extension.ToolRunner{"tofu": tofu{}}})
//	}
//
// A plugin has one supervised process, which starts and ends with Writ and serves everything but tools, and one more
// process for each call of a tool, inside the box of the run. So the two share no memory.
package plugin
