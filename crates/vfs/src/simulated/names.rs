//! The names of a simulated disk: a tree of directories, as readers see it and as it is on the disk.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};
use std::path::{Component, Path};

use super::content::Content;
use super::survival::Fate;

/// A file or directory, whatever its name.
pub(crate) type NodeNumber = u64;

const ROOT: NodeNumber = 0;

/// All files, directories and names. Everything is in sorted maps: a seed must always mean the same.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    nodes: BTreeMap<NodeNumber, Node>,
    next_node: NodeNumber,
    /// How many changes there were; each has its number, from 1.
    changes: u64,
    /// The changes of names since the syncs of their directories, oldest first.
    unsynced: Vec<NameChange>,
}

#[derive(Clone, Debug)]
enum Node {
    File(Content),
    Directory(Directory),
}

#[derive(Clone, Debug, Default)]
struct Directory {
    cached: BTreeMap<String, NodeNumber>,
    durable: BTreeMap<String, NodeNumber>,
}

/// One change: made, removed, or renamed, which is both at once.
#[derive(Clone, Debug)]
struct NameChange {
    number: u64,
    /// The directory whose sync makes it durable: for a rename the one that gains the name.
    synced_by: NodeNumber,
    removed: Option<Link>,
    added: Option<Link>,
}

/// A name of a node.
#[derive(Clone, Debug)]
struct Link {
    directory: NodeNumber,
    name: String,
    node: NodeNumber,
}

impl Tree {
    pub(crate) fn new() -> Tree {
        let nodes = BTreeMap::from([(ROOT, Node::Directory(Directory::default()))]);
        Tree { nodes, next_node: ROOT + 1, changes: 0, unsynced: Vec::new() }
    }

    /// The node of this path, as readers see it.
    pub(crate) fn find(&self, path: &Path) -> Result<NodeNumber> {
        parts(path)
            .iter()
            .try_fold(ROOT, |node, name| match &self.nodes[&node] {
                Node::Directory(directory) => directory.cached.get(name).copied(),
                Node::File(_) => None,
            })
            .ok_or_else(|| not_found(path))
    }

    /// The file of this path.
    pub(crate) fn find_file(&self, path: &Path) -> Result<NodeNumber> {
        let node = self.find(path)?;
        match self.nodes[&node] {
            Node::File(_) => Ok(node),
            Node::Directory(_) => {
                Err(Error::new(ErrorKind::IsADirectory, format!("{} is a directory", path.display())))
            }
        }
    }

    /// The bytes of an open file.
    pub(crate) fn file(&self, node: NodeNumber) -> &Content {
        match &self.nodes[&node] {
            Node::File(content) => content,
            Node::Directory(_) => unreachable!("only files are opened"),
        }
    }

    /// The bytes of an open file, to be changed by the change of the number given with them.
    pub(crate) fn change_file(&mut self, node: NodeNumber) -> (&mut Content, u64) {
        self.changes += 1;
        match self.nodes.get_mut(&node) {
            Some(Node::File(content)) => (content, self.changes),
            _ => unreachable!("only files are opened, and open ones are not forgotten"),
        }
    }

    /// Makes an empty file.
    pub(crate) fn create_file(&mut self, path: &Path) -> Result<NodeNumber> {
        let (directory, name) = self.place_of(path)?;
        if self.find(path).is_ok() {
            return Err(Error::new(ErrorKind::AlreadyExists, format!("{} exists", path.display())));
        }
        Ok(self.create(directory, name, Node::File(Content::default())))
    }

    /// Makes a directory and all those above it that do not exist.
    pub(crate) fn create_directories(&mut self, path: &Path) -> Result<()> {
        let mut directory = ROOT;
        for name in parts(path) {
            directory = match self.directory(directory, path)?.cached.get(&name) {
                Some(found) => *found,
                None => self.create(directory, name, Node::Directory(Directory::default())),
            };
        }
        self.directory(directory, path).map(|_| ())
    }

    fn create(&mut self, directory: NodeNumber, name: String, node: Node) -> NodeNumber {
        let number = self.next_node;
        self.next_node += 1;
        self.nodes.insert(number, node);
        self.change_name(directory, None, Some(Link { directory, name, node: number }));
        number
    }

    /// Removes a file's name. The file is still there for those who have it open.
    pub(crate) fn remove_file(&mut self, path: &Path) -> Result<()> {
        let node = self.find_file(path)?;
        let (directory, name) = self.place_of(path)?;
        self.change_name(directory, Some(Link { directory, name, node }), None);
        Ok(())
    }

    /// Removes a directory and all below it: name by name, so that a crash may find it half removed.
    pub(crate) fn remove_directory(&mut self, path: &Path) -> Result<()> {
        let node = self.find(path)?;
        self.directory(node, path)?;
        let (directory, name) = self.place_of(path)?;
        let mut links = Vec::new();
        self.links_below(node, &mut links);
        links.push(Link { directory, name, node });
        for link in links {
            self.change_name(directory, Some(link), None);
        }
        Ok(())
    }

    /// The names below a directory, the deepest first.
    fn links_below(&self, directory: NodeNumber, into: &mut Vec<Link>) {
        let Node::Directory(names) = &self.nodes[&directory] else { return };
        for (name, node) in &names.cached {
            self.links_below(*node, into);
            into.push(Link { directory, name: name.clone(), node: *node });
        }
    }

    /// Gives a node another name, in place of any other that has it.
    pub(crate) fn rename(&mut self, from: &Path, to: &Path) -> Result<()> {
        let node = self.find(from)?;
        let (from_directory, from_name) = self.place_of(from)?;
        let (to_directory, to_name) = self.place_of(to)?;
        if (from_directory, &from_name) != (to_directory, &to_name) {
            let removed = Link { directory: from_directory, name: from_name, node };
            let added = Link { directory: to_directory, name: to_name, node };
            self.change_name(to_directory, Some(removed), Some(added));
        }
        Ok(())
    }

    fn change_name(&mut self, synced_by: NodeNumber, removed: Option<Link>, added: Option<Link>) {
        self.changes += 1;
        let change = NameChange { number: self.changes, synced_by, removed, added };
        change.apply(&mut self.nodes, |directory| &mut directory.cached);
        self.unsynced.push(change);
    }

    /// The names in a directory, sorted.
    pub(crate) fn list(&self, path: &Path) -> Result<Vec<String>> {
        Ok(self.directory(self.find(path)?, path)?.cached.keys().cloned().collect())
    }

    /// Makes the names in a directory durable.
    pub(crate) fn sync_directory(&mut self, path: &Path) -> Result<()> {
        self.settle_directory(path, |_| true)
    }

    /// A directory's sync that fails: some names are durable, the others will never be, though readers see them.
    pub(crate) fn fail_sync_directory(&mut self, path: &Path, fate: &mut Fate) -> Result<()> {
        self.settle_directory(path, |number| fate.of_change(number))
    }

    fn settle_directory(&mut self, path: &Path, mut is_there: impl FnMut(u64) -> bool) -> Result<()> {
        let node = self.find(path)?;
        self.directory(node, path)?;
        for change in std::mem::take(&mut self.unsynced) {
            if change.synced_by != node {
                self.unsynced.push(change);
            } else if is_there(change.number) {
                change.apply(&mut self.nodes, |directory| &mut directory.durable);
            }
        }
        Ok(())
    }

    /// The numbers of the first and the last change that is not durable.
    pub(crate) fn unsynced(&self) -> Option<(u64, u64)> {
        let names = self.unsynced.iter().map(|change| (change.number, change.number));
        let files = self.nodes.values().filter_map(|node| match node {
            Node::File(content) => content.unsynced(),
            Node::Directory(_) => None,
        });
        names.chain(files).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// Returns the tree that a crash leaves, all of it durable.
    pub(crate) fn after_crash(&self, fate: &mut Fate) -> Tree {
        let mut nodes = self.nodes.clone();
        for change in &self.unsynced {
            if fate.of_change(change.number) {
                change.apply(&mut nodes, |directory| &mut directory.durable);
            }
        }
        let mut left = Tree { next_node: self.next_node, ..Tree::new() };
        let mut reached = vec![ROOT];
        while let Some(number) = reached.pop() {
            let node = match &nodes[&number] {
                Node::File(content) => Node::File(Content::durable(content.after_crash(fate))),
                Node::Directory(directory) => {
                    let names = directory.durable.clone();
                    reached.extend(names.values());
                    Node::Directory(Directory { cached: names.clone(), durable: names })
                }
            };
            left.nodes.insert(number, node);
        }
        left
    }

    /// Every file's path and bytes, as readers see them, sorted.
    pub(crate) fn contents(&self) -> Vec<(String, Vec<u8>)> {
        let mut contents = Vec::new();
        let mut directories = vec![(ROOT, String::new())];
        while let Some((directory, path)) = directories.pop() {
            let Node::Directory(names) = &self.nodes[&directory] else { continue };
            for (name, node) in &names.cached {
                let path = format!("{path}/{name}");
                match &self.nodes[node] {
                    Node::File(content) => contents.push((path, content.bytes().to_vec())),
                    Node::Directory(_) => directories.push((*node, path)),
                }
            }
        }
        contents.sort();
        contents
    }

    fn directory(&self, node: NodeNumber, path: &Path) -> Result<&Directory> {
        match &self.nodes[&node] {
            Node::Directory(directory) => Ok(directory),
            Node::File(_) => Err(Error::new(ErrorKind::NotADirectory, format!("not a directory: {}", path.display()))),
        }
    }

    /// The directory that a path's last name is in or would be, and that name.
    fn place_of(&self, path: &Path) -> Result<(NodeNumber, String)> {
        let name = parts(path).pop().ok_or_else(|| not_found(path))?;
        let directory = self.find(path.parent().unwrap_or(Path::new("")))?;
        self.directory(directory, path)?;
        Ok((directory, name))
    }
}

impl NameChange {
    fn apply(
        &self,
        nodes: &mut BTreeMap<NodeNumber, Node>,
        names: impl Fn(&mut Directory) -> &mut BTreeMap<String, NodeNumber>,
    ) {
        let mut in_names_of = |link: &Link, f: &dyn Fn(&mut BTreeMap<String, NodeNumber>)| {
            if let Some(Node::Directory(directory)) = nodes.get_mut(&link.directory) {
                f(names(directory));
            }
        };
        if let Some(link) = &self.removed {
            in_names_of(link, &|names| {
                // By the time this becomes durable the name may be another node's.
                if names.get(&link.name) == Some(&link.node) {
                    names.remove(&link.name);
                }
            });
        }
        if let Some(link) = &self.added {
            in_names_of(link, &|names| {
                names.insert(link.name.clone(), link.node);
            });
        }
    }
}

fn not_found(path: &Path) -> Error {
    Error::new(ErrorKind::NotFound, format!("no such file or directory: {}", path.display()))
}

/// The names in a path, from the root: there is no working directory.
fn parts(path: &Path) -> Vec<String> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::ParentDir => {
                parts.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    parts
}
