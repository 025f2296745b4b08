"""The part of GitHub's GraphQL schema that the twin answers, in our own words; names and nullability are GitHub's."""

SDL = '''
scalar DateTime
scalar URI

interface Node { id: ID! }
interface Actor { login: String! url: URI! }
interface Comment { id: ID! body: String! createdAt: DateTime! lastEditedAt: DateTime editor: Actor author: Actor }
interface Minimizable { id: ID! isMinimized: Boolean! minimizedReason: String }

union Reactor = User | Bot | Organization | Mannequin

enum ReactionContent { THUMBS_UP THUMBS_DOWN LAUGH HOORAY CONFUSED HEART ROCKET EYES }
enum ReportedContentClassifiers { SPAM ABUSE OFF_TOPIC OUTDATED DUPLICATE RESOLVED LOW_QUALITY }
enum IssueState { OPEN CLOSED }
enum PullRequestState { OPEN CLOSED MERGED }

type User implements Node & Actor { id: ID! login: String! url: URI! databaseId: Int }
type Bot implements Node & Actor { id: ID! login: String! url: URI! databaseId: Int }
type Organization implements Node & Actor { id: ID! login: String! url: URI! databaseId: Int }
type Mannequin implements Node & Actor { id: ID! login: String! url: URI! databaseId: Int }

type PageInfo { hasNextPage: Boolean! endCursor: String }

type Reaction implements Node {
  id: ID! databaseId: Int content: ReactionContent! createdAt: DateTime! user: User
}
type ReactionConnection { nodes: [Reaction] totalCount: Int! pageInfo: PageInfo! }
type ReactorConnection { nodes: [Reactor] totalCount: Int! pageInfo: PageInfo! }
type ReactionGroup {
  content: ReactionContent! createdAt: DateTime viewerHasReacted: Boolean!
  reactors(first: Int, after: String): ReactorConnection!
}

type IssueComment implements Node & Comment & Minimizable {
  id: ID! databaseId: Int fullDatabaseId: String body: String! createdAt: DateTime! updatedAt: DateTime!
  lastEditedAt: DateTime editor: Actor author: Actor isMinimized: Boolean! minimizedReason: String url: URI!
  reactionGroups: [ReactionGroup!]
  reactions(first: Int, after: String, content: ReactionContent): ReactionConnection!
  issue: Issue! pullRequest: PullRequest
}
type IssueCommentConnection { nodes: [IssueComment] totalCount: Int! pageInfo: PageInfo! }

type Issue implements Node & Comment {
  id: ID! databaseId: Int number: Int! title: String! body: String! state: IssueState! url: URI! locked: Boolean!
  createdAt: DateTime! updatedAt: DateTime! lastEditedAt: DateTime editor: Actor author: Actor
  comments(first: Int, after: String): IssueCommentConnection!
  reactions(first: Int, after: String, content: ReactionContent): ReactionConnection!
}
type PullRequest implements Node & Comment {
  id: ID! databaseId: Int number: Int! title: String! body: String! state: PullRequestState! url: URI!
  isDraft: Boolean! locked: Boolean! createdAt: DateTime! updatedAt: DateTime!
  lastEditedAt: DateTime editor: Actor author: Actor
}
type Repository implements Node {
  id: ID! databaseId: Int nameWithOwner: String! isPrivate: Boolean! isArchived: Boolean!
  issue(number: Int!): Issue pullRequest(number: Int!): PullRequest
}
type RateLimit { cost: Int! limit: Int! remaining: Int! used: Int! resetAt: DateTime! }

input MinimizeCommentInput {
  subjectId: ID! classifier: ReportedContentClassifiers! clientMutationId: String
}
input UnminimizeCommentInput { subjectId: ID! clientMutationId: String }
type MinimizeCommentPayload { clientMutationId: String minimizedComment: Minimizable }
type UnminimizeCommentPayload { clientMutationId: String unminimizedComment: Minimizable }

input ConvertPullRequestToDraftInput { pullRequestId: ID! clientMutationId: String }
type ConvertPullRequestToDraftPayload { clientMutationId: String pullRequest: PullRequest }

type Query {
  node(id: ID!): Node
  nodes(ids: [ID!]!): [Node]!
  repository(owner: String!, name: String!): Repository
  rateLimit: RateLimit
  viewer: Bot!
}
type Mutation {
  minimizeComment(input: MinimizeCommentInput!): MinimizeCommentPayload
  unminimizeComment(input: UnminimizeCommentInput!): UnminimizeCommentPayload
  convertPullRequestToDraft(input: ConvertPullRequestToDraftInput!): ConvertPullRequestToDraftPayload
}
'''
